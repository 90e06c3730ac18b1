// Numbers and steps as people read them.

const EXACT = new Map([[Infinity, "Inf"], [-Infinity, "-Inf"]]);

function number(value) {
  if (value === undefined || value === null) return "–";
  if (Number.isNaN(value)) return "NaN";
  if (EXACT.has(value)) return EXACT.get(value);
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e6)) return value.toExponential(2).replace("e+", "e");
  return String(Number(value.toPrecision(4)));
}

function stepText(step) {
  return Math.round(step).toLocaleString(document.documentElement.lang || "en");
}

// Steps on an axis, where room is short.
function shortStep(step) {
  const size = Math.abs(step);
  if (size >= 1e9) return `${Number((step / 1e9).toPrecision(4))}G`;
  if (size >= 1e6) return `${Number((step / 1e6).toPrecision(4))}M`;
  if (size >= 1e4) return `${Number((step / 1e3).toPrecision(5))}k`;
  return String(Number(step.toPrecision(6)));
}

function element(name, className, text) {
  const made = document.createElement(name);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}
