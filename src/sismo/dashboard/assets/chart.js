// One plot on its canvas: axes, curves or heat map, thresholds, marks and crosshair.

class Chart {
  constructor(frame, plot, roles) {
    this.frame = frame;
    this.canvas = frame.querySelector("canvas");
    this.keys = frame.querySelector(".keys");
    this.plot = plot;
    this.roles = roles;
    this.own = roles.filter((role) => !role.under);
    this.under = roles.filter((role) => role.under);
    this.pair = new Map(this.under.map((role) => [role.channel, role]));
    this.alone = this.under.filter((role) => !this.own.some((one) => one.channel === role.channel));
    this.readout = element("div", "readout");
    this.readout.setAttribute("aria-hidden", "true"); // whoever hears the page is told by speak()
    frame.append(this.readout);
    this.log = wantsLog(plot, roles);
    this.lines = [];
    this.visible = true;
    this.stale = false;
    this.drag = null;
    this.canvas.classList.toggle("tall", plot.heat && roles.length > 24);
    listenTo(this);
    this.speak();
  }

  layout() {
    const [width, height] = [this.canvas.clientWidth, this.canvas.clientHeight];
    const ratio = window.devicePixelRatio || 1;
    if (this.canvas.width !== Math.round(width * ratio) || this.canvas.height !== Math.round(height * ratio)) {
      this.canvas.width = Math.round(width * ratio);
      this.canvas.height = Math.round(height * ratio);
    }
    this.box = { left: 58, top: 6, width: Math.max(20, width - 68), height: Math.max(20, height - 28) };
    const context = this.canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    context.font = "11px system-ui, sans-serif";
    return context;
  }

  xOf(step) {
    const [low, high] = app.view;
    return this.box.left + ((step - low) / (high - low)) * this.box.width;
  }

  stepAt(x) {
    const [low, high] = app.view;
    return low + ((x - this.box.left) / this.box.width) * (high - low);
  }

  draw() {
    this.stale = false;
    if (!this.canvas.clientWidth) return;
    const context = this.layout();
    const { box, plot } = this;
    const colours = app.colours;
    const xOf = (step) => this.xOf(step);
    this.scale = plot.heat ? heatScale(plot, this.roles, this.log) : this.lineScale();
    const scale = this.scale;
    const yOf = (value) => box.top + box.height * (1 - (scale.place(value) - scale.low) / (scale.high - scale.low));
    this.drawSteps(context, colours);
    if (plot.heat) {
      this.bands = heatBands(this, box);
      for (const band of this.bands) drawHeat(context, plot, band, box, scale, xOf, colours);
    } else if (scale) this.drawValues(context, scale, colours);
    context.save();
    context.beginPath();
    context.rect(box.left - DOT, box.top - 1, box.width + 2 * DOT, box.height + 2);
    context.clip();
    drawChosen(context, plot.panel, box, xOf, colours);
    if (!plot.heat) this.drawCurves(context, xOf, yOf);
    drawMarks(context, marksOf(plot.panel), box, xOf, colours, plot.alarm);
    drawAlarm(context, plot.alarm, box, xOf, colours);
    if (!plot.heat && scale) nameThresholds(context, this.lines, box, xOf, yOf, colours);
    context.restore();
    this.drawHover(context, xOf, yOf, colours);
    showKeys(this);
    showReadout(this);
  }

  drawCurves(context, xOf, yOf) {
    traceLost(context, this.own, this.box, xOf, app.colours);
    if (!this.scale) return;
    drawThresholds(context, this.lines, this.box, xOf, yOf, app.colours);
    for (const role of this.under) this.stroke(context, role, xOf, yOf);
    // Where curves lie on each other the one with fewer rows has to be on top to be seen, and then the first.
    const order = [...this.own].reverse().sort((a, b) => b.rows - a.rows);
    for (const role of order) this.stroke(context, role, xOf, yOf);
  }

  lineScale() {
    const range = visibleRange(this.roles, app.view[0], app.view[1], this.log);
    this.lines = nearLines(this.plot, range, this.log);
    if (!range) return null;
    const values = [...range, ...this.lines.map((line) => line.value)];
    return makeScale(Math.min(...values), Math.max(...values), this.log, this.plot.bounds);
  }

  // The colour of a series; a baseline has that of the series that it lies under.
  colour(role) {
    const place = this.own.findIndex((one) => one.channel === role.channel);
    return place < 0 ? app.colours.muted : seriesColour(place, this.own.length, app.colours);
  }

  stroke(context, role, xOf, yOf) {
    context.save();
    context.strokeStyle = this.colour(role);
    context.lineJoin = "round";
    context.lineWidth = role.under ? 1.2 : 1.4;
    if (role.under) {
      context.globalAlpha = 0.8;
      context.setLineDash([4, 3]);
    }
    trace(context, role, this.box, this.scale, xOf, yOf);
    context.restore();
    if (role.rows < 80 && !role.under) this.dots(context, role, xOf, yOf);
  }

  // Few rows (an evaluation every so many steps) are points that were measured, and are shown as such.
  dots(context, role, xOf, yOf) {
    context.fillStyle = this.colour(role);
    role.values.forEach((value, i) => {
      if (!Number.isFinite(value)) return;
      context.beginPath();
      context.arc(xOf(role.steps[i]), yOf(value), DOT, 0, 2 * Math.PI);
      context.fill();
    });
  }

  drawSteps(context, colours) {
    const { box } = this;
    context.strokeStyle = colours.rule;
    context.fillStyle = colours.muted;
    context.lineWidth = 1;
    context.textAlign = "center";
    const [low, high] = app.view;
    for (const step of linearTicks(low, high, Math.max(2, box.width / 90))) {
      const x = Math.round(this.xOf(step)) + 0.5;
      context.beginPath();
      context.moveTo(x, box.top);
      context.lineTo(x, box.top + box.height);
      context.stroke();
      context.fillText(shortStep(step), Math.min(x, box.left + box.width - 8), box.top + box.height + 15);
    }
  }

  drawValues(context, scale, colours) {
    const { box } = this;
    context.textAlign = "right";
    context.fillStyle = colours.muted;
    context.strokeStyle = colours.rule;
    for (const [place, text] of valueTicks(scale, Math.max(2, box.height / 34))) {
      const y = Math.round(box.top + box.height * (1 - (place - scale.low) / (scale.high - scale.low))) + 0.5;
      context.beginPath();
      context.moveTo(box.left, y);
      context.lineTo(box.left + box.width, y);
      context.stroke();
      context.fillText(text, box.left - 6, y + 4);
    }
  }

  drawHover(context, xOf, yOf, colours) {
    if (!app.hover) return;
    const x = Math.round(xOf(app.hover.step)) + 0.5;
    const { box } = this;
    if (x < box.left || x > box.left + box.width) return;
    context.strokeStyle = colours.ink;
    context.globalAlpha = 0.6;
    context.beginPath();
    context.moveTo(x, box.top);
    context.lineTo(x, box.top + box.height);
    context.stroke();
    context.globalAlpha = 1;
    if (this.drag?.zooming) {
      context.fillStyle = colours.wash;
      context.fillRect(Math.min(this.drag.x, this.drag.now), box.top, Math.abs(this.drag.now - this.drag.x), box.height);
    }
    if (this.plot.heat || !this.scale) return;
    for (const role of this.own) {
      const at = nearest(role, app.hover.step);
      if (at < 0 || !Number.isFinite(role.values[at])) continue;
      context.fillStyle = this.colour(role);
      context.beginPath();
      context.arc(xOf(role.steps[at]), yOf(role.values[at]), 3, 0, 2 * Math.PI);
      context.fill();
    }
  }

  // What a screen reader says of the plot: it is a slider over the steps, and its text is what the curves show there.
  speak() {
    const step = Math.round(app.hover?.step ?? app.view[1]);
    const spoken = this.own.slice(0, SPOKEN).map((role) => `${role.label} ${valueAt(role, step)}`);
    if (this.own.length > SPOKEN) spoken.push("…");
    const { canvas } = this;
    canvas.setAttribute("aria-valuemin", app.full[0]);
    canvas.setAttribute("aria-valuemax", app.full[1]);
    canvas.setAttribute("aria-valuenow", step);
    canvas.setAttribute("aria-valuetext", `${app.facts.unit} ${stepText(step)}: ${spoken.join(", ")}`);
  }
}

const DOT = 2.4; // half the size of a row that is drawn as a point
const SPOKEN = 12; // series that are read out; nobody listens to a hundred
