// The navigator: the loss of the whole run with everything that happened, and the part of it that is in view.

class Strip {
  constructor(canvas, roles) {
    this.canvas = canvas;
    this.roles = roles;
    this.log = roles.length > 0 && wantsLog({ log: "auto" }, roles);
    this.drag = null;
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      this.drag = event.offsetX;
    });
    canvas.addEventListener("pointermove", (event) => {
      if (this.drag !== null && Math.abs(event.offsetX - this.drag) > 3) this.choose(this.drag, event.offsetX);
    });
    canvas.addEventListener("pointerup", (event) => {
      if (this.drag !== null && Math.abs(event.offsetX - this.drag) <= 3) this.centre(event.offsetX);
      this.drag = null;
    });
    canvas.addEventListener("dblclick", () => setView(...app.full));
    canvas.addEventListener("keydown", moveByKey);
  }

  stepAt(x) {
    const [low, high] = app.full;
    return low + (x / this.canvas.clientWidth) * (high - low);
  }

  choose(a, b) {
    const ends = [this.stepAt(a), this.stepAt(b)].sort((low, high) => low - high);
    setView(ends[0], ends[1]);
  }

  centre(x) {
    const half = (app.view[1] - app.view[0]) / 2;
    setView(this.stepAt(x) - half, this.stepAt(x) + half);
  }

  speak(text) {
    this.canvas.setAttribute("aria-valuemin", app.full[0]);
    this.canvas.setAttribute("aria-valuemax", app.full[1]);
    this.canvas.setAttribute("aria-valuenow", Math.round((app.view[0] + app.view[1]) / 2));
    this.canvas.setAttribute("aria-valuetext", text);
  }

  draw() {
    const { canvas } = this;
    const [width, height] = [canvas.clientWidth, canvas.clientHeight];
    if (!width) return;
    const ratio = window.devicePixelRatio || 1;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    const context = canvas.getContext("2d");
    context.scale(ratio, ratio);
    const colours = app.colours;
    const [low, high] = app.full;
    const box = { left: 0, top: 4, width, height: height - 8 };
    const xOf = (step) => ((step - low) / (high - low)) * width;
    const view = app.view;
    app.view = app.full; // the tracing functions draw what is in view, and here that is everything
    const range = visibleRange(this.roles, low, high, this.log);
    traceLost(context, this.roles, box, xOf, colours);
    if (range) {
      const scale = makeScale(range[0], range[1], this.log, null);
      const yOf = (value) => box.top + box.height * (1 - (scale.place(value) - scale.low) / (scale.high - scale.low));
      context.strokeStyle = colours.muted;
      context.lineWidth = 1;
      for (const role of this.roles) trace(context, role, box, scale, xOf, yOf);
    }
    app.view = view;
    drawMarks(context, app.facts.marks, box, xOf, colours);
    context.fillStyle = colours.wash;
    context.fillRect(0, 0, xOf(view[0]), height);
    context.fillRect(xOf(view[1]), 0, width - xOf(view[1]), height);
    context.strokeStyle = colours.ink;
    context.lineWidth = 1.5;
    context.strokeRect(xOf(view[0]) + 1, 1, Math.max(3, xOf(view[1]) - xOf(view[0]) - 2), height - 2);
  }
}
