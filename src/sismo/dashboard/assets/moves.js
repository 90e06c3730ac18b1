// The ways to move a plot, and all others with it: mouse, wheel and keys.

function listenTo(chart) {
  const { canvas } = chart;
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || event.pointerType === "touch") return;
    canvas.setPointerCapture(event.pointerId);
    const x = event.offsetX;
    chart.drag = { x, now: x, zooming: !event.shiftKey, view: [...app.view] };
  });
  canvas.addEventListener("pointermove", (event) => {
    const x = event.offsetX;
    chart.hoverY = event.offsetY;
    if (chart.drag) {
      chart.drag.now = x;
      const [low, high] = chart.drag.view;
      const by = ((chart.drag.x - x) / chart.box.width) * (high - low);
      if (!chart.drag.zooming) setView(low + by, high + by);
    }
    setHover(Math.round(Math.max(app.full[0], Math.min(app.full[1], chart.stepAt(x)))), chart);
  });
  const end = () => {
    const drag = chart.drag;
    chart.drag = null;
    if (drag?.zooming && Math.abs(drag.now - drag.x) > 5) {
      const ends = [chart.stepAt(drag.x), chart.stepAt(drag.now)].sort((a, b) => a - b);
      setView(ends[0], ends[1]);
    }
  };
  canvas.addEventListener("pointerup", end);
  canvas.addEventListener("pointercancel", end);
  canvas.addEventListener("pointerleave", () => chart.drag ?? setHover(null));
  canvas.addEventListener("dblclick", () => setView(...app.full));
  canvas.addEventListener("wheel", (event) => wheel(chart, event), { passive: false });
  canvas.addEventListener("keydown", (event) => {
    if (moveByKey(event)) chart.speak();
  });
}

// A plain wheel scrolls the page, as everywhere; with Ctrl it zooms, and sideways it moves.
function wheel(chart, event) {
  if (event.ctrlKey || event.metaKey) zoomBy(event.deltaY > 0 ? 1.25 : 0.8, chart.stepAt(event.offsetX));
  else if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) panBy(event.deltaX / chart.box.width);
  else return;
  event.preventDefault();
}

// The keys that every canvas takes; whether this was one of them.
function moveByKey(event) {
  const actions = {
    ArrowLeft: () => (event.shiftKey ? panBy(-0.25) : moveHover(-1)),
    ArrowRight: () => (event.shiftKey ? panBy(0.25) : moveHover(1)),
    "+": () => zoomBy(0.5, app.hover?.step),
    "=": () => zoomBy(0.5, app.hover?.step),
    "-": () => zoomBy(2, app.hover?.step),
    Home: () => setView(...app.full),
    Escape: () => setHover(null),
  };
  const action = actions[event.key];
  if (!action || event.ctrlKey || event.metaKey || event.altKey) return false;
  action();
  event.preventDefault();
  return true;
}

function moveHover(direction) {
  const [low, high] = app.view;
  const by = Math.max(1, Math.round((high - low) / 100));
  const from = app.hover?.step ?? Math.round((low + high) / 2);
  setHover(Math.min(high, Math.max(low, from + direction * by)), null);
}
