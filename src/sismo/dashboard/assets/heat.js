// A plot of many series: one row each, one column per two pixels, coloured by value.

const COLUMN = 2;

function heatScale(plot, roles, log) {
  const range = visibleRange(roles, app.view[0], app.view[1], log);
  if (!range) return null;
  const [low, high] = plot.bounds ? [Math.min(plot.bounds[0], range[0]), Math.max(plot.bounds[1], range[1])] : range;
  return makeScale(low, high > low ? high : low + (Math.abs(low) || 1), log, [low, high], 0);
}

// A heat map has one band of rows, and a second one in the same colours under it where there is a baseline.
function heatBands(chart, box) {
  const room = chart.under.length ? 18 : 0;
  const row = (box.height - room) / chart.roles.length;
  const high = row * chart.own.length;
  const bands = [{ roles: chart.own, top: box.top, height: high, title: "" }];
  if (room) bands.push({ roles: chart.under, top: box.top + high + room, height: row * chart.under.length, title: app.words.baseline });
  return bands;
}

// The series that a height on the canvas belongs to.
function heatRole(chart, y) {
  const band = chart.bands?.find((one) => y >= one.top && y < one.top + one.height);
  return band ? band.roles[Math.floor(((y - band.top) / band.height) * band.roles.length)] : null;
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

function drawHeat(context, plot, band, box, scale, xOf, colours) {
  const { roles, top, height } = band;
  const columns = Math.max(1, Math.ceil(box.width / COLUMN));
  const picture = new ImageData(columns, roles.length);
  const lost = new ImageData(columns, roles.length);
  const table = Array.from({ length: 256 }, (_, i) => viridis(i / 255));
  const limits = plot.lines.filter((line) => line.bad && line.until === null);
  context.fillStyle = colours.alarm;
  roles.forEach((role, row) => {
    const [cells, filled] = heatCells(role, box, xOf, plot.worst, columns);
    let beyond = false;
    for (let at = 0; at < columns; at += 1) {
      if (!filled[at]) continue;
      const place = 4 * (row * columns + at);
      if (filled[at] === 2) {
        lost.data[place + 3] = 255;
        continue;
      }
      const share = (scale.place(cells[at]) - scale.low) / (scale.high - scale.low);
      const colour = table[Math.max(0, Math.min(255, Math.round(share * 255)))];
      picture.data.set([colour[0], colour[1], colour[2], 255], place);
      beyond ||= limits.some((line) => (line.bad === "above" ? cells[at] > line.value : cells[at] < line.value));
    }
    // A row that passes the limit of a rule has a mark at its end.
    if (beyond) context.fillRect(box.left + box.width + 2, top + (row * height) / roles.length, 4, Math.max(2, height / roles.length - 1));
  });
  const area = [box.left, top, columns * COLUMN, height];
  context.save();
  context.imageSmoothingEnabled = false;
  context.drawImage(canvasOf(picture), ...area);
  context.restore();
  drawLost(context, lost, area, colours);
  drawRowNames(context, band, box, colours);
}

// Cells that were logged as NaN or Inf are hatched, as they are in every other plot.
function drawLost(context, lost, [left, top, width, height], colours) {
  if (!lost.data.some((part) => part)) return;
  const whole = document.createElement("canvas");
  whole.width = Math.ceil(width);
  whole.height = Math.ceil(height);
  const pen = whole.getContext("2d");
  pen.imageSmoothingEnabled = false;
  pen.drawImage(canvasOf(lost), 0, 0, width, height);
  pen.globalCompositeOperation = "source-in";
  pen.fillStyle = hatch(pen, colours.lost);
  pen.fillRect(0, 0, width, height);
  context.drawImage(whole, left, top);
}

function canvasOf(picture) {
  const made = document.createElement("canvas");
  made.width = picture.width;
  made.height = picture.height;
  made.getContext("2d").putImageData(picture, 0, 0);
  return made;
}

function drawRowNames(context, band, box, colours) {
  const high = band.height / band.roles.length;
  const every = Math.max(1, Math.ceil(14 / high));
  context.fillStyle = colours.muted;
  if (band.title) {
    context.textAlign = "left";
    context.fillText(band.title, box.left, band.top - 5);
  }
  context.textAlign = "right";
  const names = shortNames(band.roles.map((role) => role.label));
  for (let row = 0; row < names.length; row += every) {
    const name = names[row];
    context.fillText(name.length > 8 ? `…${name.slice(-7)}` : name, box.left - 6, band.top + (row + 0.5) * high + 4);
  }
}

// Names without the parts at their beginning that all of them share: of blocks.0.mlp and blocks.1.mlp the number is what counts.
function shortNames(names) {
  const parts = names.map((name) => name.split("."));
  let shared = 0;
  while (parts.every((one) => shared + 1 < one.length && one[shared] === parts[0][shared])) shared += 1;
  return parts.map((one) => one.slice(shared).join("."));
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
