// Scales and ticks.

const LOG_RATIO = 30; // from this ratio of the largest to the smallest value on, a linear axis hides the small ones
const POSITIVE = 0.9; // share of values that must be over 0 before the few that are not are drawn at the floor of a log axis

// Whether a plot wants a logarithmic axis. Asked once of all its values, so that zooming does not change the kind of axis.
function wantsLog(plot, roles) {
  if (plot.log === "never") return false;
  let low = Infinity;
  let high = 0;
  let positive = 0;
  let count = 0;
  for (const role of roles) {
    for (const value of role.values) {
      if (!Number.isFinite(value)) continue;
      count += 1;
      if (value <= 0) continue;
      positive += 1;
      if (value < low) low = value;
      if (value > high) high = value;
    }
  }
  return positive > 0 && positive >= POSITIVE * count && high / low >= LOG_RATIO;
}

// ``room`` is the share of the range that is left free on both sides.
function makeScale(low, high, log, bounds, room = 0.06) {
  if (log) {
    const [a, b] = [Math.log10(low), Math.log10(high)];
    const pad = room && Math.max((b - a) * room, 0.02);
    return { log, low: a - pad, high: b + pad, place: (value) => (value > 0 ? Math.log10(value) : a - pad) };
  }
  let pad = (high - low) * room;
  if (!(pad > 0)) pad = Math.abs(high) * 0.1 || 1;
  let [a, b] = [low - pad, high + pad];
  if (bounds) [a, b] = [Math.min(bounds[0], low), Math.max(bounds[1], high)];
  else if (low >= 0 && a < 0) a = 0;
  return { log, low: a, high: b, place: (value) => value };
}

function linearTicks(low, high, wanted) {
  const raw = (high - low) / wanted;
  const power = 10 ** Math.floor(Math.log10(raw));
  const unit = [1, 2, 5, 10].find((factor) => factor * power >= raw) * power;
  const ticks = [];
  for (let i = Math.ceil(low / unit); i * unit <= high && ticks.length < 50; i += 1) ticks.push(i * unit);
  return ticks;
}

// Ticks of a scale as [place on the scale, text].
function valueTicks(scale, wanted) {
  if (!scale.log) return linearTicks(scale.low, scale.high, wanted).map((value) => [value, number(value)]);
  const decades = scale.high - scale.low;
  for (let every = Math.max(1, Math.ceil(decades / wanted)); every >= 1; every -= 1) {
    const ticks = [];
    for (let power = Math.ceil(scale.low); power <= scale.high; power += 1) {
      if (power % every === 0) ticks.push([power, number(10 ** power)]);
    }
    if (ticks.length >= 2) return ticks;
  }
  const [low, high] = [10 ** scale.low, 10 ** scale.high];
  return linearTicks(low, high, wanted).filter((value) => value > 0).map((value) => [Math.log10(value), number(value)]);
}
