// The state of the view: one plain object, in the address of the page, with undo.

export const MAX_PINS = 6;

/** What a view begins with, before the data decides the columns. */
export const DEFAULTS = {
  cost: "", score: "", least: false, // objective; least: a low score is good
  a: { x: "", y: "" }, b: { x: "", y: "" }, // scatter plots; zoom: {x: [low, high], y: ...}
  cloud: { x: "", y: "", z: "", turn: [0.6, 0.35] },
  scales: {}, // by column
  color: "", palette: "viridis", size: "", shape: "", draw: "points",
  front: true, budget: null,
  filters: {}, // by column: {low, high, outside} or {off: [labels]}
  lassos: [], // {x, y, xs, ys, points: [[x, y], ...], hide}
  search: "",
  curves: { x: "", y: "", smooth: 0 },
  axes: [], // of parallel coordinates
  sort: { by: "", down: true },
  pins: [],
  theme: "", panels: "", bare: false,
};

const copyOf = (value) => JSON.parse(JSON.stringify(value));
/** An entry of an object that columns name: `constructor` is a name like any other. */
export const entry = (object, name) => (Object.hasOwn(object, name) ? object[name] : undefined);

const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);

export class State {
  /** @param {(keys: Set<string>) => void} changed called with the keys that changed */
  constructor(changed) {
    this.changed = changed;
    this.now = copyOf(DEFAULTS);
    this.start = copyOf(DEFAULTS); // what the data suggests; the address holds the difference
    this.past = [];
    this.future = [];
    this.committed = copyOf(DEFAULTS);
  }

  /** Set what the data suggests, then what the address asks for. */
  begin(suggested, asked) {
    this.start = { ...copyOf(DEFAULTS), ...copyOf(suggested) };
    this.now = merge(this.start, asked);
    this.committed = copyOf(this.now);
  }

  /**
   * Change some keys.
   * @param {object} patch
   * @param {boolean} commit false while something is dragged: undo then goes back to before
   */
  set(patch, commit = true) {
    const keys = Object.keys(patch).filter((key) => !same(patch[key], this.now[key]));
    Object.assign(this.now, copyOf(patch));
    if (keys.length) this.changed(new Set(keys));
    if (commit) this.commit();
  }

  commit() {
    if (same(this.committed, this.now)) return;
    this.past.push(this.committed);
    if (this.past.length > 100) this.past.shift();
    this.future = [];
    this.committed = copyOf(this.now);
    this.write();
  }

  undo() { this.#travel(this.past, this.future); }
  redo() { this.#travel(this.future, this.past); }

  /** Back to what the data suggests; the theme stays. */
  reset() { this.set({ ...copyOf(this.start), theme: this.now.theme }); }

  #travel(from, to) {
    if (!from.length) return;
    to.push(copyOf(this.now));
    this.#replace(from.pop());
    this.committed = copyOf(this.now);
    this.write();
  }

  #replace(next) {
    const keys = Object.keys(next).filter((key) => !same(next[key], this.now[key]));
    this.now = copyOf(next);
    this.changed(new Set(keys));
  }

  /** What differs from the start, as the part of an address after #. */
  hash() {
    const changes = {};
    for (const key of Object.keys(DEFAULTS)) {
      if (!same(this.now[key], this.start[key])) changes[key] = this.now[key];
    }
    return Object.keys(changes).length ? encodeURIComponent(JSON.stringify(changes)) : "";
  }

  write() {
    try {
      const { pathname, search } = location, hash = this.hash();
      history.replaceState(null, "", `${pathname}${search}${hash ? `#${hash}` : ""}`);
    } catch { /* a page without an address, as in a notebook */ }
  }
}

/** Start with some keys replaced; what is of another type is left out. */
export function merge(start, asked) {
  const merged = copyOf(start);
  for (const [key, value] of Object.entries(asked ?? {})) {
    if (!Object.hasOwn(DEFAULTS, key)) continue;
    const old = DEFAULTS[key];
    if (old !== null && (typeof old !== typeof value || Array.isArray(old) !== Array.isArray(value))) continue;
    const plain = typeof value === "object" && value !== null && !Array.isArray(value);
    merged[key] = plain && key !== "filters" && key !== "scales" ? { ...merged[key], ...value } : value;
  }
  return merged;
}

/** What the address of the page asks for: `#state`, and `?x=cost&y=score&color=...` for frames. */
export function asked() {
  let state = {};
  try {
    state = JSON.parse(decodeURIComponent(location.hash.slice(1)) || "{}");
  } catch { /* an address that was cut; begin afresh */ }
  const query = new URLSearchParams(location.search);
  const wanted = {};
  for (const key of ["color", "size", "shape", "palette", "theme", "panels", "search", "cost", "score", "draw"]) {
    if (query.has(key)) wanted[key] = query.get(key);
  }
  if (query.has("bare")) wanted.bare = query.get("bare") !== "0";
  if (query.has("x") || query.has("y")) {
    wanted.a = {};
    for (const axis of ["x", "y"]) if (query.has(axis)) wanted.a[axis] = query.get(axis);
  }
  return { ...wanted, ...(typeof state === "object" && state ? state : {}) };
}
