// What all panels share: the steps in view, the step under the pointer, and the evidence that was chosen.

const app = { facts: null, words: {}, charts: [], full: [0, 1], view: [0, 1], hover: null, chosen: null, colours: null, strip: null };

let asked = false;

// Draws what is on the screen at the next frame, once, however often it is asked for.
function redraw() {
  if (asked) return;
  asked = true;
  requestAnimationFrame(() => {
    asked = false;
    drawNow(false);
  });
}

function drawNow(everything) {
  const start = performance.now();
  for (const chart of app.charts) {
    if (everything || chart.visible) chart.draw();
    else chart.stale = true;
  }
  if (app.strip) app.strip.draw();
  showRange();
  document.documentElement.dataset.drawMs = (performance.now() - start).toFixed(1);
}

function setView(low, high) {
  const [first, last] = app.full;
  const least = Math.min(4, last - first);
  let width = Math.min(Math.max(high - low, least), last - first);
  if (!Number.isFinite(width)) width = last - first;
  let from = Math.max(first, Math.min(low, last - width));
  if (!Number.isFinite(from)) from = first;
  app.view = [from, from + width];
  redraw();
}

function zoomBy(factor, around) {
  const [low, high] = app.view;
  const centre = around ?? (low + high) / 2;
  setView(centre - (centre - low) * factor, centre + (high - centre) * factor);
}

function panBy(share) {
  const [low, high] = app.view;
  const by = (high - low) * share;
  const [first, last] = app.full;
  const kept = Math.min(Math.max(by, first - low), last - high);
  setView(low + kept, high + kept);
}

// Zooms to a stretch of steps with some room around it.
function zoomTo(start, end, panel) {
  const last = end ?? start;
  const room = Math.max((last - start) * 0.6, Math.min(60, (app.full[1] - app.full[0]) * 0.08), 2);
  app.chosen = { start, end: last, panel };
  setView(start - room, last + room);
}

function setHover(step, chart) {
  app.hover = step === null ? null : { step, chart };
  redraw();
}

function showRange() {
  const output = document.getElementById("range");
  if (!output) return;
  const [low, high] = app.view;
  output.textContent = `${app.facts.unit} ${stepText(Math.ceil(low))} ${app.words.to} ${stepText(Math.floor(high))}`;
  if (app.strip) app.strip.speak(output.textContent);
  document.documentElement.dataset.view = `${low} ${high}`;
}

// Whether every row of a series in view is drawn, and not only its outline.
function wholeIn(role, [low, high]) {
  if (role.rows === role.of) return true;
  return (role.whole ?? app.facts.whole).some(([from, to]) => from <= low && high <= to);
}
