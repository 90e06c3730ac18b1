// The packed series: deflated byte planes of step differences and of float32 values (see packing.py).

async function decode(text, planes, roles) {
  const signs = atob(text);
  const packed = new Uint8Array(signs.length);
  for (let i = 0; i < signs.length; i += 1) packed[i] = signs.charCodeAt(i);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  const total = bytes.length / (planes + 4);
  const bits = new Uint32Array(total);
  for (let place = 0; place < 4; place += 1) {
    const from = (planes + place) * total;
    for (let i = 0; i < total; i += 1) bits[i] |= bytes[from + i] << (8 * place);
  }
  const values = new Float32Array(bits.buffer);
  const weight = Array.from({ length: planes }, (_, place) => 256 ** place);
  let at = 0;
  for (const role of roles) {
    role.steps = new Float64Array(role.rows);
    let step = role.first;
    for (let i = 0; i < role.rows; i += 1) {
      for (let place = 0; place < planes; place += 1) step += bytes[place * total + at + i] * weight[place];
      role.steps[i] = step;
    }
    role.values = values.subarray(at, at + role.rows);
    if (role.power) role.values = Float64Array.from(role.values, (value) => value * 2 ** role.power);
    at += role.rows;
  }
}

// Position of the first step that is not before the given one.
function lowerBound(steps, step) {
  let low = 0;
  let high = steps.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (steps[middle] < step) low = middle + 1;
    else high = middle;
  }
  return low;
}

function nearest(role, step) {
  const at = lowerBound(role.steps, step);
  if (at === 0) return role.rows ? 0 : -1;
  if (at === role.rows) return at - 1;
  return step - role.steps[at - 1] <= role.steps[at] - step ? at - 1 : at;
}
