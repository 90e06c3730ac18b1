// Puts the parts together, once for each state of the page.

async function boot() {
  app.facts = JSON.parse(document.getElementById("facts").textContent);
  app.words = app.facts.words;
  app.colours = themeColours();
  await decode(document.getElementById("series").textContent, app.facts.planes, app.facts.series);
  const before = { full: app.full, view: app.view, known: app.charts.length > 0 };
  app.full = app.facts.span;
  const moved = before.known && (before.view[0] > before.full[0] || before.view[1] < before.full[1]);
  app.view = moved ? before.view : [...app.full];
  app.hover = null;
  app.charts = makeCharts();
  const loss = app.facts.series.filter((role) => role.channel === "loss/train" && !role.under);
  app.strip = new Strip(document.getElementById("strip"), loss);
  document.getElementById("kinds").replaceChildren(...markLegend());
  listenButtons();
  rove(document.querySelector("a.node.leads") ?? document.querySelector("a.node"));
  watchVisible();
  drawNow(false);
  document.documentElement.dataset.ready = performance.now().toFixed(0);
  // What is below the screen is drawn when there is nothing else to do, so that nobody waits for it and print finds it there.
  (window.requestIdleCallback ?? setTimeout)(() => app.charts.forEach((chart) => chart.stale && chart.draw()));
}

function makeCharts() {
  return app.facts.plots.map((plot, place) => {
    const frame = [...document.querySelectorAll("[data-plot]")].find((one) => one.dataset.plot === `${plot.panel}.${plot.at}`);
    return new Chart(frame, plot, app.facts.series.filter((role) => role.plot === place && role.rows));
  });
}

// Panels that are off the screen are drawn when they come near it.
function watchVisible() {
  if (app.watcher) app.watcher.disconnect();
  app.watcher = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      const chart = app.charts.find((one) => one.canvas === entry.target);
      if (!chart) continue;
      chart.visible = entry.isIntersecting;
      if (chart.visible && chart.stale) chart.draw();
    }
  }, { rootMargin: "150px" });
  for (const chart of app.charts) {
    const place = chart.canvas.getBoundingClientRect();
    chart.visible = place.bottom > -150 && place.top < innerHeight + 150;
    app.watcher.observe(chart.canvas);
  }
}

function listenButtons() {
  const on = (id, action) => document.getElementById(id)?.addEventListener("click", action);
  on("go-in", () => zoomBy(0.5));
  on("go-out", () => zoomBy(2));
  on("go-left", () => panBy(-0.5));
  on("go-right", () => panBy(0.5));
  on("go-all", () => {
    app.chosen = null;
    setView(...app.full);
  });
}

// One listener for all evidence: that of the question that is shown comes and goes.
document.addEventListener("click", (event) => {
  const button = event.target.closest("button.zoom");
  if (button) zoomToEvidence(button);
});

function zoomToEvidence(button) {
  for (const other of document.querySelectorAll(".zoom.on")) other.classList.remove("on");
  button.classList.add("on");
  const { start, end, panel } = button.dataset;
  zoomTo(Number(start), end === undefined ? null : Number(end), panel);
  const target = document.getElementById(`panel-${panel}`) ?? document.querySelector(".navigator");
  const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
  target.scrollIntoView({ block: "center", behavior: calm ? "auto" : "smooth" });
}

const root = document.documentElement;

function setTheme(theme) {
  if (theme) root.dataset.theme = theme;
  app.colours = themeColours();
  hatches = new Map();
  if (app.facts) drawNow(true);
}

document.getElementById("theme").addEventListener("click", () => setTheme(themeColours().dark ? "light" : "dark"));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => setTheme());
new ResizeObserver(() => app.facts && drawNow(false)).observe(document.body);

let folded = [];
window.addEventListener("beforeprint", () => {
  folded = [...document.querySelectorAll(".causes details:not([open])")];
  for (const one of folded) one.open = true;
  root.dataset.printing = "";
  setTheme();
});
window.addEventListener("afterprint", () => {
  for (const one of folded) one.open = false;
  delete root.dataset.printing;
  setTheme();
});

boot();
