// The data in the core's memory, what passes the filters, and when views are drawn.
//
// Everything that is computed here comes from all rows: what is drawn never decides a number.

import { makeCore } from "./core.js";
import { SCALES, forward } from "./scales.js";
import { entry } from "./state.js";
import { colorRows, densityPalette, fillPalette } from "./colors.js";

export const BINS = 64;
const MASKS = 24; // columns beside the data's own, for filters that are no range
const LAZY = 300000; // rows from which a picture that moves is thinned
const THIN = 100000; // points that it then shows
const MANY = 150000; // rows from which a graphics card draws them, if there is one
const CALM = 160; // milliseconds without input until everything is drawn in full
const BUDGET = 7; // milliseconds of a frame after which slow views wait

export class Model {
  /** @param {import("./data.js").Source} source */
  constructor(source) {
    this.source = source;
    this.views = [];
    this.stats = { frames: 0, rows: 0, points: 0, times: [] };
    this.hover = -1;
    this.input = 0;
    this.wasm = null;
    this.turn = 0;
  }

  /** Read the data; again when there is a new version. */
  async load() {
    const parsed = await this.source.table();
    const core = await makeCore(async () => {
      this.wasm ??= this.source.bytes("core.wasm", import.meta.url).then((b) => WebAssembly.compile(b));
      return this.wasm;
    });
    this.#adopt(parsed, core);
    await this.#chooseCard();
  }

  /** Let a graphics card draw the points, or not; `?renderer=webgl2` or `pixels` decides instead. */
  async #chooseCard() {
    const asked = new URLSearchParams(location.search).get("renderer");
    if (asked === "pixels" || !(asked === "webgl2" || this.n > MANY)) return void (this.card = null);
    if (this.card) return this.card.forget();
    const { openCard } = await import("./webgl.js");
    this.card = openCard(asked === "webgl2");
    this.card?.canvas.addEventListener("webglcontextlost", () => {
      this.card = null;
      this.mark("data");
    });
  }

  #adopt({ header, rows, columns, start, curve }, core) {
    Object.assign(this, { header, core, start, curve, n: rows });
    this.columns = columns.map((column, index) => ({ ...column, index }));
    this.byName = new Map(this.columns.map((column) => [column.name, column]));
    this.stride = Math.max(16, rows + 15 & ~15);
    const width = this.columns.length;
    this.matrix = core.make(Float32Array, (width + MASKS) * this.stride);
    this.bins = core.make(Uint8Array, Math.max(1, width) * this.stride);
    for (const column of this.columns) this.#fill(column);
    this.fails = core.make(Uint8Array, this.stride);
    this.which = core.make(Uint8Array, this.stride);
    this.color = core.make(Uint8Array, this.stride);
    this.palette = core.make(Uint32Array, 256);
    this.density = core.make(Uint32Array, 256);
    this.stamp = core.make(Uint8Array, this.stride);
    this.order = core.make(Uint32Array, this.stride);
    this.scratch = core.make(Uint32Array, this.stride);
    this.places = new Map(); // transformed columns, by name and scale
    this.binned = new Map(); // scale that a column was binned by
    this.totals = new Map();
    this.counts = new Map();
    this.masks = new Map();
    this.curves = new Map();
    this.ranks = new Map();
    this.fronts = null;
    this.count = rows;
    if (this.hover >= rows) this.hover = -1;
  }

  /** Copy a column into the matrix, NaN where there is no value. */
  #fill(column) {
    const out = this.matrix.a, from = column.index * this.stride, { values, valid } = column;
    out.set(values, from);
    for (let i = 0; valid && i < this.n; i++) {
      if (!(valid[i >> 3] >> (i & 7) & 1)) out[from + i] = NaN;
    }
    column.values = column.valid = null; // the matrix holds them now
  }

  /** Values of a column, as the core has them: without its base. */
  raw(column) {
    return this.matrix.part(column.index * this.stride, this.n);
  }

  /** A value as it is: a number, a label, or null. */
  value(column, row) {
    const v = this.matrix.a[column.index * this.stride + row];
    if (column.labels) return v === v ? column.labels[v] : null;
    return v + column.base;
  }

  /** The row's name for people. */
  title(row) {
    for (const name of ["run", "path"]) {
      const column = this.byName.get(name);
      const label = column && this.value(column, row);
      if (label) return name === "run" ? label : `${label} ${row + 1}`;
    }
    return `row ${row + 1}`;
  }

  column(name) { return this.byName.get(name) ?? null; }

  scaleOf(column) {
    if (column.labels) return "linear";
    const kind = entry(this.state.now.scales, column.name) ?? column.scale;
    return SCALES.some(([known]) => known === kind) ? kind : "linear";
  }

  /**
   * A column on its scale.
   * @returns {{block: any, low: number, high: number, finite: number}}
   */
  place(column, kind = this.scaleOf(column)) {
    const key = `${kind} ${column.name}`;
    let found = this.places.get(key);
    if (!found) {
      const raw = this.raw(column);
      let block = raw;
      if (kind === "rank") {
        block = this.core.make(Float32Array, this.n);
        const finite = this.core.sort(raw, this.n, this.order, this.scratch);
        this.core.ranks(raw, this.order, finite, this.n, block);
      } else if (kind !== "linear") {
        block = this.core.make(Float32Array, this.n);
        const out = block.a, values = raw.a, f = forward[kind], base = column.base;
        for (let i = 0; i < this.n; i++) out[i] = f(values[i] + base);
      }
      const extent = this.core.make(Float64Array, 2);
      const finite = this.core.extent(block, this.n, null, extent);
      found = { block, low: extent.a[0], high: extent.a[1], finite, owned: block !== raw };
      this.core.free(extent);
      this.places.set(key, found);
      for (const [old, { block: unused, owned }] of this.places) {
        if (this.places.size <= 24) break;
        if (owned) this.core.free(unused);
        this.places.delete(old);
      }
    } else {
      this.places.delete(key); // the least recently used comes first
      this.places.set(key, found);
    }
    return found;
  }

  /** The bins of a column on its scale, and the places of the first and last edge. */
  binsOf(column) {
    const kind = this.scaleOf(column);
    const place = this.place(column, kind);
    const part = this.bins.part(column.index * this.stride, this.n);
    let { low, high } = place;
    if (column.labels) [low, high] = [-0.5, Math.max(BINS, column.labels.length) - 0.5];
    else if (high <= low) [low, high] = [low - 0.5, low + 0.5];
    if (this.binned.get(column.name) !== kind) {
      this.core.bins(place.block, this.n, low, high, part);
      this.binned.set(column.name, kind);
      const total = new Uint32Array(BINS + 1), bins = part.a;
      for (let i = 0; i < this.n; i++) total[bins[i]]++;
      this.totals.set(column.name, total);
    }
    return { block: part, low, high, total: this.totals.get(column.name) };
  }

  /** Filters as the core takes them: ranges of columns, and masks for what is no range. */
  #filters() {
    const { filters, lassos, search } = this.state.now;
    const list = [], used = new Set();
    const mask = (key, column, make) => {
      const name = `${key}`;
      used.add(name);
      let entry = this.masks.get(name);
      if (!entry) {
        const taken = new Set([...this.masks.values()].map(({ slot }) => slot));
        const slot = [...Array(MASKS).keys()].find((k) => !taken.has(k));
        if (slot === undefined) return;
        entry = { slot };
        const index = this.columns.length + slot;
        make(this.matrix.a.subarray(index * this.stride, index * this.stride + this.n));
        this.masks.set(name, entry);
      }
      list.push({ column: this.columns.length + entry.slot, low: 1, high: 1, outside: 0, own: column });
    };
    const wanted = [];
    for (const [name, filter] of Object.entries(filters)) {
      const column = this.column(name);
      if (!column || !filter) continue;
      if (column.labels) {
        const off = filter.off ?? [];
        wanted.push([`off ${name} ${JSON.stringify(off)}`, column, (out) => {
          const bad = new Set(off), pass = column.labels.map((label) => (bad.has(label) ? 0 : 1));
          const none = bad.has(null) ? 0 : 1, values = this.raw(column).a;
          for (let i = 0; i < this.n; i++) out[i] = values[i] === values[i] ? pass[values[i]] : none;
        }]);
      } else {
        const low = filter.low === null || filter.low === undefined ? -Infinity : filter.low - column.base;
        const high = filter.high === null || filter.high === undefined ? Infinity : filter.high - column.base;
        list.push({ column: column.index, low, high, outside: filter.outside ? 1 : 0, own: column });
      }
    }
    if (search) wanted.push([`search ${search}`, null, (out) => this.#search(search, out)]);
    for (const lasso of lassos) {
      wanted.push([`lasso ${JSON.stringify(lasso)}`, null, (out) => this.#lasso(lasso, out)]);
    }
    const keys = new Set(wanted.map(([key]) => key));
    for (const key of this.masks.keys()) if (!keys.has(key)) this.masks.delete(key);
    for (const [key, column, make] of wanted) mask(key, column, make);
    return list.slice(0, 250);
  }

  #search(words, out) {
    const parts = words.toLowerCase().split(/\s+/).filter(Boolean);
    const hits = this.columns.filter((column) => column.labels).map((column) => ({
      values: this.raw(column).a,
      found: column.labels.map((label) => {
        const low = label.toLowerCase();
        return parts.reduce((bits, part, k) => (low.includes(part) ? bits | 1 << k : bits), 0);
      }),
    }));
    const all = (1 << parts.length) - 1;
    for (let i = 0; i < this.n; i++) {
      let bits = 0;
      for (const { values, found } of hits) if (values[i] === values[i]) bits |= found[values[i]];
      out[i] = bits === all ? 1 : 0;
    }
  }

  #lasso({ x, y, xs, ys, points, hide }, out) {
    const cx = this.column(x), cy = this.column(y);
    if (!cx || !cy || !Array.isArray(points)) return void out.fill(1);
    const corners = this.core.make(Float64Array, 2 * points.length);
    corners.a.set(points.flat());
    const map = this.core.make(Float64Array, 6);
    map.a.set([1, 0, 1, 0, NaN, NaN]);
    const inside = this.core.make(Uint8Array, this.n);
    const [a, b] = [this.place(cx, xs), this.place(cy, ys)];
    this.core.inside(a.block, b.block, this.n, map, null, corners, points.length, inside);
    const found = inside.a, kept = hide ? 0 : 1;
    for (let i = 0; i < this.n; i++) out[i] = found[i] === kept ? 1 : 0;
    for (const block of [corners, map, inside]) this.core.free(block);
  }

  /** Decide which rows pass. */
  filter() {
    const list = this.#filters(), k = list.length;
    const columns = this.core.make(Uint32Array, k + 1), ranges = this.core.make(Float32Array, 2 * k + 2);
    const inverted = this.core.make(Uint8Array, k + 1);
    list.forEach(({ column, low, high, outside }, j) => {
      columns.a[j] = column;
      ranges.a[2 * j] = low;
      ranges.a[2 * j + 1] = high;
      inverted.a[j] = outside;
    });
    this.own = new Map(list.map(({ own }, j) => [own?.name, j]));
    this.count = this.core.filter(
      this.matrix, this.stride, this.n, columns, ranges, inverted, k, this.fails, this.which,
    );
    this.filtered = k > 0;
    this.turnOfFilter = this.fails.version = (this.turnOfFilter ?? 0) + 1;
    this.stats.rows += this.n * Math.max(1, k);
    this.counts.clear();
    for (const block of [columns, ranges, inverted]) this.core.free(block);
  }

  /** Counts of the bins of some columns: rows that pass all filters but the column's own. */
  histograms(names) {
    const missing = names.filter((name) => !this.counts.has(name) && this.byName.has(name));
    if (!missing.length) return;
    const m = missing.length;
    const columns = this.core.make(Uint32Array, m), own = this.core.make(Uint8Array, m);
    const counts = this.core.make(Uint32Array, m * (BINS + 1));
    missing.forEach((name, j) => {
      const column = this.column(name);
      this.binsOf(column);
      columns.a[j] = column.index;
      own.a[j] = this.own?.get(name) ?? 255;
    });
    this.core.histograms(
      this.bins, this.stride, this.n, columns, m, own, this.fails, this.which, counts,
    );
    this.stats.rows += this.n * m;
    missing.forEach((name, j) => {
      this.counts.set(name, counts.a.slice(j * (BINS + 1), (j + 1) * (BINS + 1)));
    });
    for (const block of [columns, own, counts]) this.core.free(block);
  }

  /** Colour, shape and size of each row. */
  marks(accent) {
    const { color, palette, shape, size } = this.state.now;
    const by = this.column(color);
    const kind = by ? by.kind : "single";
    const bins = by && !by.labels ? this.binsOf(by).block.a : null;
    colorRows(this.color.a, this.n, kind, bins, by?.labels ? this.raw(by).a : null);
    fillPalette(this.palette.a, kind, palette, accent);
    densityPalette(this.density.a, palette);
    const shapes = this.column(shape), sizes = this.column(size);
    this.stamped = Boolean(shapes || sizes);
    this.color.version = this.stamp.version = (this.color.version ?? 0) + 1;
    if (!this.stamped) return;
    const codes = shapes?.labels ? this.raw(shapes).a : null;
    const shapeBins = shapes && !codes ? this.binsOf(shapes).block.a : null;
    const sizeBins = sizes ? this.binsOf(sizes).block.a : null;
    const out = this.stamp.a;
    for (let i = 0; i < this.n; i++) {
      let s = 0;
      if (codes) s = codes[i] === codes[i] ? codes[i] % 5 : 5;
      else if (shapeBins) s = shapeBins[i] < BINS ? shapeBins[i] >> 4 : 5;
      const z = !sizeBins ? 2 : sizeBins[i] < BINS ? Math.floor(sizeBins[i] * 5 / BINS) : 0;
      out[i] = s * 5 + z;
    }
  }

  /** Rows of the Pareto front of cost and score among those that pass, by cost. */
  frontRows() {
    const { cost, score, least } = this.state.now;
    const [x, y] = [this.column(cost), this.column(score)];
    if (!x || !y) return new Uint32Array(0);
    const key = `${cost}\n${score}\n${least}`;
    if (this.fronts?.key !== key) this.#order(key, x, y, least);
    const { order, scores, front, count, turn } = this.fronts;
    if (turn !== this.turnOfFilter) {
      const kept = this.core.front(this.raw(x), order, scores, count, this.fails, front);
      this.fronts.rows = front.a.slice(0, kept);
      this.fronts.turn = this.turnOfFilter;
    }
    return this.fronts.rows;
  }

  /** Sort rows for the front, once; scores are turned for "least". */
  #order(key, x, y, least) {
    const { core, n } = this, score = core.make(Float32Array, n);
    score.a.set(this.raw(y).a);
    if (least) for (let i = 0, { a } = score; i < n; i++) a[i] = -a[i];
    this.fronts ??= { order: core.make(Uint32Array, n), front: core.make(Uint32Array, n), scores: core.make(Float32Array, n) };
    const { order, scores } = this.fronts;
    const count = core.order(this.raw(x), score, n, order, this.scratch, scores);
    core.free(score);
    Object.assign(this.fronts, { key, count, turn: null });
  }

  /** Rows that pass, by a column; rows without a value come last. */
  sorted(name, down) {
    const key = `${name}\n${down}`;
    if (this.sorting?.key === key && this.sorting.turn === this.turnOfFilter) return this.sorting.rows;
    const column = this.column(name), rows = new Uint32Array(this.count), fails = this.fails.a;
    let k = 0;
    if (column) {
      const place = this.#alphabetic(column);
      const finite = this.core.sort(place, this.n, this.order, this.scratch), order = this.order.a;
      for (let i = 0; i < finite; i++) {
        const row = order[down ? finite - 1 - i : i];
        if (fails[row] === 0) rows[k++] = row;
      }
      const values = place.a;
      for (let row = 0; row < this.n && k < rows.length; row++) {
        if (fails[row] === 0 && !Number.isFinite(values[row])) rows[k++] = row;
      }
    } else {
      for (let row = 0; row < this.n; row++) if (fails[row] === 0) rows[k++] = row;
    }
    this.sorting = { key, turn: this.turnOfFilter, rows };
    return rows;
  }

  /** Values that sort as people expect: labels by alphabet. */
  #alphabetic(column) {
    const raw = this.raw(column);
    if (!column.labels) return raw;
    const key = `alphabet ${column.name}`;
    let found = this.places.get(key);
    if (!found) {
      const order = column.labels.map((_, k) => k);
      const compare = new Intl.Collator(undefined, { numeric: true }).compare;
      order.sort((a, b) => compare(column.labels[a], column.labels[b]));
      const rank = new Float32Array(order.length);
      order.forEach((code, k) => { rank[code] = k; });
      const block = this.core.make(Float32Array, this.n), out = block.a, values = raw.a;
      for (let i = 0; i < this.n; i++) out[i] = values[i] === values[i] ? rank[values[i]] : NaN;
      found = { block, low: 0, high: order.length, finite: this.n, owned: true };
      this.places.set(key, found);
    }
    return found.block;
  }

  /** Pin a row, or let it go. */
  pin(row, most) {
    const { pins } = this.state.now;
    const next = pins.includes(row) ? pins.filter((other) => other !== row) : [...pins, row].slice(-most);
    this.state.set({ pins: next });
  }

  /** How many rows that pass have no finite value of a column. */
  missing(column) {
    const extent = this.core.make(Float64Array, 2);
    const known = this.core.extent(this.raw(column), this.n, this.fails, extent);
    this.core.free(extent);
    return this.count - known;
  }

  /** A column of the curves, once it has come; null until then. */
  curveColumn(name) {
    const k = this.header.curves.findIndex((curve) => curve.name === name);
    if (k < 0) return null;
    const known = this.curves.get(name);
    if (known !== undefined) return known;
    this.curves.set(name, null);
    const { core } = this;
    this.source.curve(k).then((values) => {
      if (core !== this.core) return;
      const block = core.make(Float32Array, Math.max(1, values.length));
      block.a.set(values);
      this.curves.set(name, block);
      this.mark("curves");
    }).catch(() => {}); // a version that is gone; the next one is on its way
    return null;
  }

  /** The curve of a row. */
  curveOf(row) { return this.curve ? this.curve[row] : row; }

  // Drawing

  /** Point out a row in all views; -1 for none. */
  point(row) {
    if (row === this.hover) return;
    this.hover = row;
    this.mark("hover");
  }

  /** Say that something changed; the views that care are drawn with the next frame. */
  mark(...keys) {
    for (const view of this.views) for (const key of keys) view.pending.add(key);
    if (keys.some((key) => ["data", "filters", "lassos", "search"].includes(key))) this.stale = true;
    if (keys.some((key) => MARKS.has(key))) this.unmarked = true;
    this.request();
  }

  /** Say that someone is dragging: pictures may be thinned until it ends. */
  touch() {
    this.input = performance.now();
    clearTimeout(this.settling);
    this.settling = setTimeout(() => this.mark("settle"), CALM + 20);
  }

  get moving() { return performance.now() - this.input < CALM; }

  /** How many rows apart are those that are drawn now. */
  get step() { return this.moving && this.n > LAZY && !this.card ? Math.ceil(this.n / THIN) : 1; }

  request() {
    if (this.requested) return;
    this.requested = true;
    requestAnimationFrame(() => this.frame());
  }

  frame() {
    this.requested = false;
    const begun = performance.now();
    if (this.stale) this.filter();
    if (this.unmarked || this.stale === "data") this.remark();
    this.stale = this.unmarked = false;
    const due = (view) => view.pending.size > 0 && view.shown;
    const quick = this.views.filter((view) => !view.slow && due(view));
    const slow = this.views.filter((view) => view.slow && due(view));
    for (const view of quick) this.#draw(view);
    slow.sort((a, b) => a.drawn - b.drawn);
    for (const [k, view] of slow.entries()) {
      const spent = performance.now() - begun;
      if (this.moving && (k > 0 || spent + (view.cost ?? 0) > BUDGET)) break;
      this.#draw(view);
    }
    this.stats.frames++;
    this.stats.times.push(performance.now() - begun);
    if (this.stats.times.length > 2000) this.stats.times.shift();
    if (this.views.some(due) && !this.moving) this.request();
  }

  #draw(view) {
    const keys = new Set(view.pending);
    view.pending.clear();
    const begun = performance.now();
    view.draw(keys);
    view.cost = performance.now() - begun;
    view.drawn = this.turn++;
  }
}

export const MARKS = new Set(["data", "color", "palette", "shape", "size", "theme", "scales"]);

/** What all views have: an element, whether it is on screen, and what changed since it was drawn. */
export class View {
  constructor(model, element, slow = false) {
    Object.assign(this, { model, element, slow, shown: true, drawn: 0 });
    this.pending = new Set(["data"]);
    this.state = model.state;
    model.views.push(this);
    const seen = new IntersectionObserver(([entry]) => {
      // what is hidden is asked all the same: only its view knows when it is to come back
      this.shown = entry.isIntersecting || element.offsetParent === null;
      if (this.shown) model.request();
    }, { rootMargin: "100px" });
    seen.observe(element);
    new ResizeObserver(() => {
      this.measured = null;
      this.pending.add("resize");
      model.request();
    }).observe(element);
  }

  /** Size in CSS pixels; measured when it changed, for measuring lays out the page. */
  get size() { return (this.measured ??= this.element.getBoundingClientRect()); }
}
