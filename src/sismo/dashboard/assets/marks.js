// What happened at a step: a sign of its own for each kind, so that none needs its colour to be told from the others.

const SIGNS = {
  spike: { sign: "▼", at: "top" },
  nonfinite: { sign: "✖", at: "top" },
  crash: { sign: "✖", at: "top", line: true },
  resume: { sign: "↻", at: "top", line: true },
  guard: { sign: "◆", at: "top", line: true },
  overflow: { sign: "×", at: "bottom" },
  skipped_step: { sign: "○", at: "bottom" },
  checkpoint: { sign: "▪", at: "bottom" },
  warning: { sign: "!", at: "bottom" },
  probe: { sign: "?", at: "bottom" },
};

const QUIET = new Set(["checkpoint", "probe", "warning"]); // shown in the loss panel and the strip only
const SCALER = new Set(["overflow", "skipped_step"]);
const SCALER_PANELS = new Set(["loss", "grad-norm", "loss-scale"]);

function marksOf(panel) {
  return app.facts.marks.filter((mark) => {
    if (mark.panel) return mark.panel === panel;
    if (QUIET.has(mark.kind)) return panel === "loss";
    return SCALER.has(mark.kind) ? SCALER_PANELS.has(panel) : true;
  });
}

const SIGN = 11; // pixels that a sign takes

// Signs of several kinds at one place are stacked, and under the flag of the alarm.
function drawMarks(context, marks, box, xOf, colours, alarm = null) {
  const stacks = new Map();
  const placeOf = (at, x) => `${at} ${Math.round(x / SIGN)}`;
  if (alarm !== null) for (const x of [xOf(alarm), xOf(alarm) + SIGN]) stacks.set(placeOf("top", x), ["flag"]);
  context.save();
  context.textAlign = "center";
  context.font = "11px system-ui, sans-serif";
  for (const mark of marks) {
    const shape = SIGNS[mark.kind];
    const x = xOf(mark.step);
    if (!shape || x < box.left - 1 || x > box.left + box.width + 1) continue;
    context.fillStyle = context.strokeStyle = shape.at === "top" ? colours.alarm : colours.mark;
    if (shape.line) {
      context.setLineDash([2, 3]);
      context.beginPath();
      context.moveTo(x, box.top);
      context.lineTo(x, box.top + box.height);
      context.stroke();
      context.setLineDash([]);
    }
    const place = placeOf(shape.at, x);
    const stack = stacks.get(place) ?? [];
    if (!stack.includes(mark.kind)) stacks.set(place, [...stack, mark.kind]);
    const level = stacks.get(place).indexOf(mark.kind) * SIGN;
    context.fillText(shape.sign, x, shape.at === "top" ? box.top + 9 + level : box.top + box.height - 3 - level);
  }
  context.restore();
}

// The evidence that was chosen, and the step at which the panel cried.
function drawChosen(context, panel, box, xOf, colours) {
  const chosen = app.chosen;
  if (!chosen) return;
  const [low, high] = [xOf(chosen.start), Math.max(xOf(chosen.end), xOf(chosen.start) + 2)];
  context.save();
  context.globalAlpha = chosen.panel === panel ? 0.18 : 0.09;
  context.fillStyle = colours.alarm;
  context.fillRect(low, box.top, high - low, box.height);
  context.restore();
}

function drawAlarm(context, step, box, xOf, colours) {
  if (step === null) return;
  const x = Math.round(xOf(step)) + 0.5;
  if (x < box.left - 1 || x > box.left + box.width + 1) return;
  context.save();
  context.strokeStyle = context.fillStyle = colours.alarm;
  context.lineWidth = 1.5;
  context.beginPath();
  context.moveTo(x, box.top);
  context.lineTo(x, box.top + box.height);
  context.stroke();
  context.beginPath();
  context.moveTo(x, box.top);
  context.lineTo(x + 8, box.top + 4);
  context.lineTo(x, box.top + 8);
  context.fill();
  context.restore();
}

// The signs that are on this page, and how many there are of each.
function markLegend() {
  const counts = new Map();
  for (const mark of app.facts.marks) counts.set(mark.kind, (counts.get(mark.kind) ?? 0) + (mark.count ?? 1));
  return [...counts].map(([kind, count]) => {
    const key = element("span");
    key.append(element("b", "", SIGNS[kind].sign), ` ${app.facts.kinds[kind]} ${count > 1 ? `(${count.toLocaleString()})` : ""}`);
    const first = app.facts.marks.find((mark) => mark.kind === kind);
    key.title = `${app.facts.unit} ${stepText(first.step)} ${first.text ?? ""}`;
    return key;
  });
}
