// A plot of many series: one row each, one column per two pixels, coloured by value.

const COLUMN = 2;

function heatScale(roles, log) {
  const range = visibleRange(roles, app.view[0], app.view[1], log);
  return range ? makeScale(range[0], range[1], log, null) : null;
}

// The worst value of each row and column. A column without a row of its own shows the last one before it.
function heatCells(role, box, xOf, worst, columns) {
  const cells = new Float64Array(columns);
  const filled = new Uint8Array(columns); // 0 nothing, 1 a number, 2 lost
  const [from, to] = visibleRows(role, app.view[0], app.view[1]);
  let end = 0;
  for (let i = from; i < to; i += 1) {
    const value = role.values[i];
    const start = Math.max(0, Math.min(columns - 1, Math.floor((xOf(role.steps[i]) - box.left) / COLUMN)));
    const next = i + 1 < to ? Math.floor((xOf(role.steps[i + 1]) - box.left) / COLUMN) : start + 1;
    end = Math.min(columns, Math.max(start + 1, next));
    for (let at = start; at < end; at += 1) {
      if (!Number.isFinite(value)) filled[at] = 2;
      else if (filled[at] === 0 || (filled[at] === 1 && (worst === "low" ? value < cells[at] : value > cells[at]))) {
        cells[at] = value;
        filled[at] = 1;
      }
    }
  }
  return [cells, filled];
}

function drawHeat(context, plot, roles, box, scale, xOf, colours) {
  const columns = Math.max(1, Math.ceil(box.width / COLUMN));
  const picture = new ImageData(columns, roles.length);
  const lost = hexColour(colours.lost);
  const table = Array.from({ length: 256 }, (_, i) => viridis(i / 255));
  roles.forEach((role, row) => {
    const [cells, filled] = heatCells(role, box, xOf, plot.worst, columns);
    for (let at = 0; at < columns; at += 1) {
      if (!filled[at]) continue;
      const share = scale ? (scale.place(cells[at]) - scale.low) / (scale.high - scale.low) : 0;
      const colour = filled[at] === 2 ? lost : table[Math.max(0, Math.min(255, Math.round(share * 255)))];
      picture.data.set([colour[0], colour[1], colour[2], 255], 4 * (row * columns + at));
    }
  });
  const small = document.createElement("canvas");
  small.width = columns;
  small.height = roles.length;
  small.getContext("2d").putImageData(picture, 0, 0);
  context.save();
  context.imageSmoothingEnabled = false;
  context.drawImage(small, box.left, box.top, columns * COLUMN, box.height);
  context.restore();
  drawRowNames(context, roles, box, colours);
}

function drawRowNames(context, roles, box, colours) {
  const high = box.height / roles.length;
  const every = Math.max(1, Math.ceil(14 / high));
  context.fillStyle = colours.muted;
  context.textAlign = "right";
  for (let row = 0; row < roles.length; row += every) {
    const name = roles[row].label;
    context.fillText(name.length > 9 ? `…${name.slice(-8)}` : name, box.left - 6, box.top + (row + 0.5) * high + 4);
  }
}

function hexColour(text) {
  return [1, 3, 5].map((at) => Number.parseInt(text.slice(at, at + 2), 16));
}

// The colours and what they stand for.
function rampKey(plot, scale) {
  const key = element("span", "ramp");
  if (!scale) return key;
  const value = (place) => number(scale.log ? 10 ** place : place);
  const bar = element("canvas");
  bar.width = 64;
  bar.height = 8;
  const pen = bar.getContext("2d");
  for (let x = 0; x < 64; x += 1) {
    pen.fillStyle = `rgb(${viridis(x / 63).join(",")})`;
    pen.fillRect(x, 0, 1, 8);
  }
  key.append(value(scale.low), bar, value(scale.high));
  return key;
}
