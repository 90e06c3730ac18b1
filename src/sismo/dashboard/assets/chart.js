// One plot on its canvas: axes, curves or heat map, marks, crosshair, and the ways to move it.

class Chart {
  constructor(frame, plot, roles) {
    this.frame = frame;
    this.canvas = frame.querySelector("canvas");
    this.keys = frame.querySelector(".keys");
    this.plot = plot;
    this.roles = roles;
    this.own = roles.filter((role) => !role.under);
    this.log = wantsLog(plot, roles);
    this.visible = true;
    this.stale = false;
    this.drag = null;
    this.canvas.classList.toggle("tall", plot.heat && this.own.length > 24);
    this.listen();
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
    if (plot.heat) this.scale = heatScale(this.own, this.log);
    else this.scale = this.lineScale();
    const scale = this.scale;
    const yOf = (value) => box.top + box.height * (1 - (scale.place(value) - scale.low) / (scale.high - scale.low));
    this.drawSteps(context, colours);
    if (!plot.heat && scale) this.drawValues(context, scale, colours);
    context.save();
    context.beginPath();
    context.rect(box.left - 1, box.top - 1, box.width + 2, box.height + 2);
    context.clip();
    drawChosen(context, plot.panel, box, xOf, colours);
    if (plot.heat) {
      context.restore();
      context.save();
      drawHeat(context, plot, this.own, box, scale, xOf, colours);
    } else {
      traceLost(context, this.roles, box, xOf, colours);
      if (scale) {
        drawThresholds(context, this.lines, box, yOf, colours);
        this.roles.filter((role) => role.under).forEach((role, place) => this.stroke(context, role, place, xOf, yOf));
        this.own.forEach((role, place) => this.stroke(context, role, place, xOf, yOf));
      }
    }
    drawMarks(context, marksOf(plot.panel), box, xOf, colours);
    drawAlarm(context, plot.alarm, box, xOf, colours);
    context.restore();
    this.drawHover(context, xOf, yOf, colours);
    this.showKeys();
  }

  lineScale() {
    const range = visibleRange(this.roles, app.view[0], app.view[1], this.log);
    this.lines = nearLines(this.plot, range, this.log);
    if (!range) return null;
    const values = [...range, ...this.lines.map((line) => line.value)];
    return makeScale(Math.min(...values), Math.max(...values), this.log, this.plot.bounds);
  }

  colour(place) {
    return seriesColour(place, this.own.length, app.colours);
  }

  stroke(context, role, place, xOf, yOf) {
    context.save();
    context.strokeStyle = this.colour(place);
    context.lineJoin = "round";
    context.lineWidth = role.under ? 1 : 1.4;
    if (role.under) {
      context.strokeStyle = app.colours.muted;
      context.globalAlpha = 0.75;
      context.setLineDash([4, 3]);
    }
    trace(context, role, this.box, this.scale, xOf, yOf);
    context.restore();
    if (role.rows < 40 && !role.under) this.dots(context, role, place, xOf, yOf);
  }

  // Few rows (an evaluation every so many steps) are points that were measured, and are shown as such.
  dots(context, role, place, xOf, yOf) {
    context.fillStyle = this.colour(place);
    role.values.forEach((value, i) => {
      if (!Number.isFinite(value)) return;
      context.beginPath();
      context.arc(xOf(role.steps[i]), yOf(value), 2.4, 0, 2 * Math.PI);
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
    this.own.forEach((role, place) => {
      const at = nearest(role, app.hover.step);
      if (at < 0 || !Number.isFinite(role.values[at])) return;
      context.fillStyle = this.colour(place);
      context.beginPath();
      context.arc(xOf(role.steps[at]), yOf(role.values[at]), 3, 0, 2 * Math.PI);
      context.fill();
    });
  }

  // The legend; with a step under the pointer the value of each series there.
  showKeys() {
    const parts = this.plot.heat ? this.heatKeys() : this.lineKeys();
    if (this.log) parts.push(element("span", "axis", app.words.log));
    this.keys.replaceChildren(...parts);
  }

  lineKeys() {
    const parts = app.hover ? [element("span", "at", `${app.facts.unit} ${stepText(app.hover.step)}`)] : [];
    this.own.forEach((role, place) => parts.push(this.key(role, this.colour(place), role.label)));
    for (const role of this.roles.filter((one) => one.under)) parts.push(this.key(role, app.colours.muted, `${app.words.baseline} ${role.label}`));
    return parts;
  }

  key(role, colour, name) {
    const key = element("span", role.under ? "key under" : "key");
    const swatch = element("i");
    swatch.style.background = colour;
    key.append(swatch, name);
    if (app.hover) key.append(" ", element("b", "", this.valueAt(role, app.hover.step)));
    return key;
  }

  valueAt(role, step) {
    const at = nearest(role, step);
    if (at < 0) return "–";
    const there = role.steps[at];
    const text = number(role.values[at]);
    return Math.abs(there - step) < 0.5 ? text : `${text} @ ${stepText(there)}`;
  }

  heatKeys() {
    const parts = [element("span", "", app.words.series.replace("{count}", this.own.length)), rampKey(this.plot, this.scale)];
    if (app.hover && app.hover.chart === this && this.hoverY !== null) {
      const row = Math.floor(((this.hoverY - this.box.top) / this.box.height) * this.own.length);
      const role = this.own[Math.max(0, Math.min(this.own.length - 1, row))];
      parts.push(element("b", "", `${role.label}: ${this.valueAt(role, app.hover.step)} (${app.facts.unit} ${stepText(app.hover.step)})`));
    }
    for (const line of this.plot.lines) parts.push(element("span", "limit", `${line.label}: ${number(line.value)}`));
    return parts;
  }

  listen() {
    const { canvas } = this;
    const placeOf = (event) => event.offsetX;
    canvas.addEventListener("pointerdown", (event) => {
      if (event.button !== 0 || event.pointerType === "touch") return;
      canvas.setPointerCapture(event.pointerId);
      const x = placeOf(event);
      this.drag = { x, now: x, zooming: !event.shiftKey, view: [...app.view] };
    });
    canvas.addEventListener("pointermove", (event) => {
      const x = placeOf(event);
      this.hoverY = event.offsetY;
      if (this.drag) {
        this.drag.now = x;
        const [low, high] = this.drag.view;
        const by = ((this.drag.x - x) / this.box.width) * (high - low);
        if (!this.drag.zooming) setView(low + by, high + by);
      }
      setHover(Math.round(Math.max(app.full[0], Math.min(app.full[1], this.stepAt(x)))), this);
    });
    const end = () => {
      const drag = this.drag;
      this.drag = null;
      if (drag?.zooming && Math.abs(drag.now - drag.x) > 5) {
        const ends = [this.stepAt(drag.x), this.stepAt(drag.now)].sort((a, b) => a - b);
        setView(ends[0], ends[1]);
      }
    };
    canvas.addEventListener("pointerup", end);
    canvas.addEventListener("pointercancel", end);
    canvas.addEventListener("pointerleave", () => this.drag ?? setHover(null));
    canvas.addEventListener("dblclick", () => setView(...app.full));
    canvas.addEventListener("wheel", (event) => this.wheel(event, placeOf(event)), { passive: false });
    canvas.addEventListener("keydown", (event) => moveByKey(event));
  }

  // A plain wheel scrolls the page, as everywhere; with Ctrl it zooms, and sideways it moves.
  wheel(event, x) {
    if (event.ctrlKey || event.metaKey) zoomBy(event.deltaY > 0 ? 1.25 : 0.8, this.stepAt(x));
    else if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) panBy(event.deltaX / this.box.width);
    else return;
    event.preventDefault();
  }
}

// The keys that every canvas takes.
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
  if (!action || event.ctrlKey || event.metaKey || event.altKey) return;
  action();
  event.preventDefault();
}

function moveHover(direction) {
  const [low, high] = app.view;
  const by = Math.max(1, Math.round((high - low) / 100));
  const from = app.hover?.step ?? Math.round((low + high) / 2);
  setHover(Math.min(high, Math.max(low, from + direction * by)), null);
}
