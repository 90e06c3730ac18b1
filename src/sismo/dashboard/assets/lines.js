// A plot of a few series as lines.

// The part of a series that is in view, with a row more on both sides so that lines run out of the picture.
function visibleRows(role, low, high) {
  return [Math.max(0, lowerBound(role.steps, low) - 1), Math.min(role.rows, lowerBound(role.steps, high) + 1)];
}

function visibleRange(roles, low, high, log) {
  let least = Infinity;
  let most = -Infinity;
  for (const role of roles) {
    const [from, to] = visibleRows(role, low, high);
    for (let i = from; i < to; i += 1) {
      const value = role.values[i];
      if (!Number.isFinite(value) || (log && value <= 0)) continue;
      if (value < least) least = value;
      if (value > most) most = value;
    }
  }
  return least <= most ? [least, most] : null;
}

// One path. More rows than pixels become one vertical stroke per pixel column, from its lowest to its highest value.
function trace(context, role, box, scale, xOf, yOf) {
  const [from, to] = visibleRows(role, app.view[0], app.view[1]);
  const dense = to - from > 3 * box.width;
  context.beginPath();
  let column = null;
  let [least, most, open] = [0, 0, false];
  let last = 0;
  const flush = () => {
    if (column === null) return;
    if (open) context.lineTo(column, least);
    else context.moveTo(column, least);
    context.lineTo(column, most);
    context.lineTo(column, last);
    open = true;
    column = null;
  };
  for (let i = from; i < to; i += 1) {
    const value = role.values[i];
    if (!Number.isFinite(value)) {
      flush();
      open = false;
      continue;
    }
    const [x, y] = [xOf(role.steps[i]), yOf(value)];
    if (!dense) {
      const alone = !open && (i + 1 >= to || !Number.isFinite(role.values[i + 1]));
      if (open) context.lineTo(x, y);
      else context.moveTo(x, y);
      if (alone) context.lineTo(x + 0.8, y); // a row between two that are lost would otherwise have no ink
      open = true;
      continue;
    }
    const at = Math.round(x);
    if (at !== column) {
      flush();
      [column, least, most] = [at, y, y];
    }
    least = Math.min(least, y);
    most = Math.max(most, y);
    last = y;
  }
  flush();
  context.stroke();
}

// Rows that were logged as NaN or Inf, as a hatched band at least two pixels wide.
function traceLost(context, roles, box, xOf, colours) {
  const spans = [];
  for (const role of roles) {
    const [from, to] = visibleRows(role, app.view[0], app.view[1]);
    let start = null;
    for (let i = from; i <= to; i += 1) {
      const bad = i < to && !Number.isFinite(role.values[i]);
      if (bad && start === null) start = xOf(role.steps[i]);
      if (!bad && start !== null) {
        spans.push([start, Math.max(xOf(role.steps[i - 1]), start + 2)]);
        start = null;
      }
    }
  }
  context.save();
  context.fillStyle = hatch(context, colours.lost);
  spans.sort((a, b) => a[0] - b[0]);
  let reached = -Infinity; // spans of several series overlap, and their hatches must not add up
  for (const [low, high] of spans) {
    const from = Math.max(low - 1, reached);
    if (high > from) context.fillRect(from, box.top, high - from, box.height);
    reached = Math.max(reached, high);
  }
  context.restore();
}

let hatches = new Map();

function hatch(context, colour) {
  if (!hatches.has(colour)) {
    const tile = document.createElement("canvas");
    tile.width = tile.height = 8;
    const pen = tile.getContext("2d");
    pen.globalAlpha = 0.1;
    pen.fillStyle = colour;
    pen.fillRect(0, 0, 8, 8);
    pen.globalAlpha = 0.38;
    pen.strokeStyle = colour;
    pen.lineWidth = 1.2;
    for (const shift of [-8, 0, 8]) {
      pen.beginPath();
      pen.moveTo(shift, 8);
      pen.lineTo(shift + 8, 0);
      pen.stroke();
    }
    hatches.set(colour, tile);
  }
  return context.createPattern(hatches.get(colour), "repeat");
}

// Thresholds. One that is far outside what is in view would flatten the curves, so it is left out, as is one of the start out of view;
// where the axis has bounds it is there anyway.
function nearLines(plot, range, log) {
  const place = (value) => (log ? Math.log10(value) : value);
  const inView = plot.lines.filter((line) => line.until === null || line.until >= app.view[0]);
  if (!range) return inView;
  const [low, high] = [place(range[0]), place(range[1])];
  const room = Math.max((high - low) * 0.7, log ? 0.3 : 0);
  const [least, most] = plot.bounds ?? [Infinity, -Infinity];
  const near = (value) => (value >= least && value <= most) || (place(value) >= low - room && place(value) <= high + room);
  return inView.filter((line) => (!log || line.value > 0) && near(line.value));
}

const STUB = 26; // pixels that a threshold of the start has at least, to be seen

function drawThresholds(context, lines, box, xOf, yOf, colours) {
  context.save();
  for (const line of lines) {
    const y = Math.round(yOf(line.value)) + 0.5;
    const start = line.until !== null;
    const width = start ? stub(line, box, xOf) : box.width;
    if (line.bad) {
      context.globalAlpha = start ? 0.16 : 0.07;
      context.fillStyle = colours.limit;
      if (line.bad === "above") context.fillRect(box.left, box.top, width, Math.max(0, y - box.top));
      else context.fillRect(box.left, y, width, Math.max(0, box.top + box.height - y));
      context.globalAlpha = 1;
    }
    context.strokeStyle = colours.limit;
    context.setLineDash([5, 4]);
    context.beginPath();
    context.moveTo(box.left, y);
    context.lineTo(box.left + width, y);
    context.stroke();
    context.setLineDash([]);
  }
  context.restore();
}

// Their names come over curves, marks and the alarm, which would strike them out.
function nameThresholds(context, lines, box, xOf, yOf, colours) {
  context.save();
  context.font = "11px system-ui, sans-serif";
  context.fillStyle = colours.limit;
  context.strokeStyle = colours.surface;
  context.lineWidth = 4;
  context.lineJoin = "round";
  for (const line of lines) {
    const y = Math.round(yOf(line.value));
    const start = line.until !== null;
    const place = start ? [box.left + stub(line, box, xOf) + 5, y + 4] : [box.left + box.width - 4, y < box.top + 16 ? y + 13 : y - 4];
    context.textAlign = start ? "left" : "right";
    context.strokeText(line.label, ...place);
    context.fillText(line.label, ...place);
  }
  context.restore();
}

function stub(line, box, xOf) {
  return Math.min(box.width, Math.max(xOf(line.until) - box.left, STUB));
}
