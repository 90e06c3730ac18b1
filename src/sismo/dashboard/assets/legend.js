// Above each plot what its curves and colours are, and over it what they are at the step under the pointer.

function showKeys(chart) {
  const parts = chart.plot.heat ? heatKeys(chart) : lineKeys(chart);
  const about = [];
  if (!chart.own.every((role) => wholeIn(role, app.view))) about.push(element("span", "outline", app.words.outline));
  if (chart.log) about.push(element("span", "", app.words.log));
  if (about.length) {
    const right = element("span", "axis");
    right.append(...about);
    parts.push(right);
  }
  chart.keys.replaceChildren(...parts);
}

function lineKeys(chart) {
  const parts = chart.own.map((role) => key(chart, role));
  if (!chart.under.length) return parts;
  const dashed = element("span", "key under");
  dashed.append(element("i"), app.words.baseline);
  return [...parts, dashed, ...chart.alone.map((role) => key(chart, role))];
}

function key(chart, role) {
  const made = element("span", role.under ? "key under" : "key");
  const swatch = element("i");
  if (!role.under) swatch.style.background = chart.colour(role);
  made.append(swatch, role.label);
  return made;
}

function heatKeys(chart) {
  const count = element("span", "", app.words.series.replace("{count}", chart.own.length));
  const limits = chart.plot.lines.map((line) => element("span", "limit", `${line.label}: ${number(line.value)}`));
  return [count, rampKey(chart.plot, chart.scale), ...limits];
}

function valueAt(role, step) {
  const at = nearest(role, step);
  if (at < 0) return "–";
  const there = role.steps[at];
  const text = number(role.values[at]);
  return Math.abs(there - step) < 0.5 ? text : `${text} @ ${stepText(there)}`;
}

// It lies over the plot, on the side where the pointer is not: were it part of the legend, the plot would jump under the pointer.
function showReadout(chart) {
  const { readout } = chart;
  const roles = app.hover ? rolesUnderPointer(chart) : [];
  readout.hidden = roles.length === 0;
  if (readout.hidden) return;
  const lines = roles.map((role) => readoutLine(chart, role));
  readout.replaceChildren(element("span", "at", `${app.facts.unit} ${stepText(app.hover.step)}`), ...lines);
  readout.classList.toggle("wide", lines.length > 6);
  const late = chart.xOf(app.hover.step) > chart.box.left + chart.box.width / 2;
  readout.style.top = `${chart.canvas.offsetTop + chart.box.top + 4}px`;
  readout.style.left = late ? `${chart.box.left + 6}px` : "auto";
  readout.style.right = late ? "auto" : "16px";
}

function rolesUnderPointer(chart) {
  if (!chart.plot.heat) return [...chart.own, ...chart.alone];
  const role = app.hover.chart === chart ? heatRole(chart, chart.hoverY) : null;
  return role ? [role] : [];
}

function readoutLine(chart, role) {
  const line = chart.plot.heat ? element("span") : key(chart, role);
  if (chart.plot.heat) line.append(role.under ? `${app.words.baseline} ${role.label}` : role.label);
  line.append(" ", element("b", "", valueAt(role, app.hover.step)));
  const under = role.under || chart.plot.heat ? null : chart.pair.get(role.channel);
  if (under) line.append(` (${valueAt(under, app.hover.step)})`);
  return line;
}
