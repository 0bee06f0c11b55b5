// Scales: how values become places on an axis, where its ticks stand, and how numbers are written.

export const SCALES = [
  ["linear", "linear"], ["log", "log"], ["symlog", "symlog"], ["logit", "logit"], ["rank", "rank"],
];

const LOG10E = 1 / Math.LN10;

/** The place of a value; NaN if the scale has none for it. Rank needs all values: see model.js. */
export const forward = {
  linear: (v) => v,
  log: (v) => (v > 0 ? Math.log10(v) : NaN),
  symlog: (v) => Math.sign(v) * Math.log1p(Math.abs(v)) * LOG10E,
  logit: (v) => (v > 0 && v < 1 ? Math.log10(v / (1 - v)) : NaN),
};

export const inverse = {
  linear: (t) => t,
  log: (t) => 10 ** t,
  symlog: (t) => Math.sign(t) * (10 ** Math.abs(t) - 1),
  logit: (t) => 1 / (1 + 10 ** -t),
};

/**
 * Ticks between two places.
 * @returns {[number, string][]} places and labels
 */
export function ticks(kind, low, high, count) {
  if (!(high > low)) return [[low, number(inverse[kind] ? inverse[kind](low) : low)]];
  if (kind === "rank") {
    return nice(low, high, count).map((t) => [t, `${Math.round(100 * t)} %`]);
  }
  if (kind === "log") {
    if (high - low < 1) return places(inverse.log(low), inverse.log(high), count, forward.log);
    const step = Math.max(1, Math.ceil((high - low) / count));
    const found = [];
    for (let t = Math.ceil(low - 1e-9); t <= high + 1e-9; t++) {
      if (t % step === 0) found.push([t, number(10 ** t)]);
    }
    return found;
  }
  if (kind === "symlog") {
    const most = Math.ceil(Math.max(Math.abs(low), Math.abs(high)));
    const found = [[0, "0"]];
    const step = Math.max(1, Math.ceil(2 * most / count));
    for (let t = 1; t <= most; t += step) {
      for (const sign of [-1, 1]) found.push([forward.symlog(sign * 10 ** t), number(sign * 10 ** t)]);
    }
    return found.filter(([t]) => t >= low && t <= high);
  }
  if (kind === "logit") {
    const values = [0.001, 0.01, 0.1, 0.5, 0.9, 0.99, 0.999];
    return values.map((v) => [forward.logit(v), number(v)]).filter(([t]) => t >= low && t <= high);
  }
  return places(low, high, count, forward.linear);
}

function places(low, high, count, toPlace) {
  const found = nice(low, high, count);
  return found.map((v) => [toPlace(v), number(v)]);
}

/** Round numbers between two numbers, 1, 2 or 5 times a power of ten apart. */
export function nice(low, high, count) {
  const rough = (high - low) / Math.max(1, count);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].find((f) => f * power >= rough * 0.999) * power;
  const found = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + step * 1e-9; k++) {
    found.push(Number((k * step).toPrecision(12)));
    if (found.length > 1000) break;
  }
  return found;
}

const UNITS = [[1e12, "T"], [1e9, "B"], [1e6, "M"], [1e3, "k"]];

/** A number for people: 12,345 as 12.3k, four digits at most. */
export function number(v) {
  if (v === null || v === undefined || Number.isNaN(v)) return "–";
  if (!Number.isFinite(v)) return v > 0 ? "∞" : "−∞";
  const size = Math.abs(v);
  if (size >= 1e4) {
    const [unit, mark] = UNITS.find(([u]) => size >= u * 0.99995) ?? UNITS[3];
    if (size < 1e15) return short(v / unit) + mark;
    return v.toExponential(2).replace("e+", "e");
  }
  if (size !== 0 && size < 1e-3) return v.toExponential(2).replace(/\.?0+e/, "e").replace("-", "−").replace("e-", "e−");
  return short(v);
}

function short(v) {
  return String(Number(v.toPrecision(4))).replace("-", "−");
}

/** A number in full, as a file would have it. */
export function exact(v) {
  return Number.isFinite(v) ? String(Number(v.toPrecision(7))) : String(v);
}

const grouped = new Intl.NumberFormat("en-US");
export const thousands = (n) => grouped.format(n);
