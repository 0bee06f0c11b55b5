// Filters: a histogram with a brush for every column, toggles for categories.

import { BINS, View } from "./model.js";
import { button, deviceRatio, h, say } from "./dom.js";
import { brief, placeText } from "./axes.js";
import { SCALES, forward, inverse, number, thousands } from "./scales.js";
import { category, pixelOf, ramp } from "./colors.js";
import { entry } from "./state.js";
import { theme } from "./theme.js";
import { ICONS } from "./icons.js";

const MAX_LABELS = 12; // that are shown of a category

const KEYS = ["data", "resize", "scroll", "filters", "lassos", "search", "scales", "color", "palette", "theme", "blur"];
const PARTS = { result: "Results", setting: "Settings", projection: "Projections", info: "Runs" };

export class Filters extends View {
  constructor(model) {
    const list = h("div.filters");
    super(model, list);
    this.list = list;
    this.items = new Map();
    this.visible = new Set();
    this.watcher = new IntersectionObserver((entries) => {
      for (const { target, isIntersecting } of entries) {
        this.visible[isIntersecting ? "add" : "delete"](target.dataset.name);
      }
      this.pending.add("scroll");
      model.request();
    }, { rootMargin: "80px" });
  }

  draw(keys) {
    if (!KEYS.some((key) => keys.has(key))) return;
    if (keys.has("data")) this.#build();
    const names = [...this.visible].filter((name) => this.items.has(name));
    this.model.histograms(names);
    const items = names.map((name) => this.items.get(name));
    if (keys.has("resize") || keys.has("data") || !this.bars?.width) this.bars = items.find(({ box }) => box)?.box.getBoundingClientRect();
    for (const item of items) item.draw(this.bars);
  }

  #build() {
    const { model } = this, wanted = model.columns.filter((column) => !column.constant);
    const signature = wanted.map((column) => `${column.name}\n${column.kind}`).join("\n\n");
    if (signature === this.signature) {
      for (const item of this.items.values()) item.refresh(model.column(item.name));
      return;
    }
    this.signature = signature;
    this.watcher.disconnect();
    this.items.clear();
    this.visible.clear();
    const parts = [];
    for (const [group, title] of Object.entries(PARTS)) {
      const columns = wanted.filter((column) => (column.group ?? "result") === group);
      if (!columns.length) continue;
      const found = columns.map((column) => {
        const item = column.labels ? new Toggles(model, column) : new Histogram(model, column);
        this.items.set(column.name, item);
        return item.element;
      });
      parts.push(h("details.part", { open: true }, h("summary", {}, title, h("span.count", {}, String(columns.length))), ...found));
    }
    this.list.replaceChildren(...parts);
    for (const item of this.items.values()) this.watcher.observe(item.element);
  }
}

/** A head with the column's name and what its filter says. */
function head(model, column, ...tools) {
  const says = h("span.says");
  const clear = button("Remove this filter", ICONS.close, () => {
    const { [column.name]: _, ...rest } = model.state.now.filters;
    model.state.set({ filters: rest });
  });
  clear.classList.add("clear");
  const name = h("span.name", { title: column.name }, brief(model, column.name));
  return { says, clear, element: h("div.filter-head", {}, name, says, ...tools, clear) };
}

class Histogram {
  constructor(model, column) {
    Object.assign(this, { model, column, name: column.name });
    this.outside = button("Leave out what lies within", ICONS.outside, () => this.#set({ outside: !this.filter?.outside }), { "aria-pressed": "false" });
    this.head = head(model, column, this.outside);
    this.canvas = h("canvas", { "aria-hidden": "true" });
    this.handles = ["low", "high"].map((end) => h(`div.handle.${end}`, {
      tabIndex: 0, role: "slider", "aria-label": `${end === "low" ? "least" : "greatest"} ${column.name}`,
      onkeydown: (event) => this.#key(event, end),
    }));
    this.range = h("div.range");
    this.box = h("div.bars", { title: "Heights grow with the square root of the count" }, this.canvas, this.range, ...this.handles);
    this.ends = ["low", "high"].map((end) => {
      const input = h("input.end", { type: "text", inputMode: "decimal", "aria-label": `${end === "low" ? "from" : "to"}, ${column.name}` });
      input.onchange = () => this.#typed(end, input.value);
      input.onblur = () => { // what was typed may be no number
        this.says = null;
        model.mark("blur");
      };
      return input;
    });
    this.scale = h("button.scale", { type: "button", title: "Scale of this column", onclick: () => this.#nextScale() });
    this.element = h("div.filter", {}, this.head.element, this.box, h("div.ends", {}, this.ends[0], this.scale, this.ends[1]));
    this.element.dataset.name = column.name;
    this.#listen();
  }

  refresh(column) { this.column = column; }

  get filter() { return entry(this.model.state.now.filters, this.name); }
  get kind() { return this.model.scaleOf(this.column); }

  #toPlace(value) {
    if (this.kind === "linear") return value - this.column.base;
    return this.kind === "rank" ? this.#rank(value) : forward[this.kind](value);
  }

  /** Rank has no formula: the place of a value is the share of values below. */
  #rank(value) {
    const { block } = this.model.place(this.column, "rank"), values = this.model.raw(this.column).a;
    let best = 0, found = -Infinity;
    for (let i = 0; i < values.length; i++) {
      if (values[i] <= value && values[i] > found) [found, best] = [values[i], block.a[i]];
    }
    return best;
  }

  #toValue(place) {
    if (this.kind === "linear") return place + this.column.base;
    if (this.kind !== "rank") return inverse[this.kind](place);
    const { block } = this.model.place(this.column, "rank"), values = this.model.raw(this.column).a;
    let best = NaN, gap = Infinity;
    for (let i = 0; i < values.length; i++) {
      const distance = Math.abs(block.a[i] - place);
      if (distance < gap) [gap, best] = [distance, values[i]];
    }
    return best;
  }

  #set(patch, commit = true) {
    const filter = { low: null, high: null, ...this.filter, ...patch };
    const { [this.name]: _, ...rest } = this.model.state.now.filters;
    const empty = filter.low === null && filter.high === null && !filter.outside;
    this.model.state.set({ filters: empty ? rest : { ...rest, [this.name]: filter } }, commit);
  }

  #typed(end, text) {
    const value = text.trim() === "" ? null : Number(text.replace("−", "-").replace(/,/g, ""));
    this.#set({ [end]: Number.isNaN(value) ? this.filter?.[end] ?? null : value });
  }

  #nextScale() {
    const kinds = SCALES.map(([kind]) => kind);
    const next = kinds[(kinds.indexOf(this.kind) + 1) % kinds.length];
    this.model.state.set({ scales: { ...this.model.state.now.scales, [this.name]: next } });
  }

  /** The least and greatest value of a filter at places; at the end there is no limit. */
  #limits(a, b, { low, high }) {
    const [from, to] = a < b ? [a, b] : [b, a];
    const value = (place) => Number(this.#toValue(place).toPrecision(7));
    return { low: from <= low ? null : value(from), high: to >= high ? null : value(to) };
  }

  #listen() {
    const { box } = this;
    let drag = null;
    const place = (event) => {
      const { left, width } = box.getBoundingClientRect(), { low, high } = this.model.binsOf(this.column);
      return low + Math.max(-0.01, Math.min(1.01, (event.clientX - left) / width)) * (high - low);
    };
    box.onpointerdown = (event) => {
      if (event.button !== 0) return;
      const bins = this.model.binsOf(this.column), here = place(event), { width } = box.getBoundingClientRect();
      const [low, high] = this.#edges(bins), near = 7 / width * (bins.high - bins.low);
      const limited = this.filter && (this.filter.low !== null || this.filter.high !== null);
      if (limited && Math.abs(here - low) < near) drag = { bins, from: high };
      else if (limited && Math.abs(here - high) < near) drag = { bins, from: low };
      else if (limited && here > low && here < high) drag = { bins, move: here, low, high };
      else drag = { bins, from: here, fresh: true };
      box.setPointerCapture(event.pointerId);
    };
    box.onpointermove = (event) => {
      if (!drag) return;
      this.model.touch();
      const here = place(event), { bins } = drag;
      if (drag.move === undefined) return this.#set(this.#limits(drag.from, here, bins), false);
      const room = here - drag.move > 0 ? bins.high - drag.high : bins.low - drag.low;
      const by = here - drag.move > 0 ? Math.min(here - drag.move, room) : Math.max(here - drag.move, room);
      this.#set(this.#limits(drag.low + by, drag.high + by, bins), false);
    };
    box.onpointerup = (event) => {
      if (!drag) return;
      const clicked = drag.fresh && Math.abs(place(event) - drag.from) < 3 / box.clientWidth * (drag.bins.high - drag.bins.low);
      drag = null;
      if (clicked) this.#set({ low: null, high: null });
      this.model.state.commit();
    };
    box.onpointercancel = () => { drag = null; };
  }

  #key(event, end) {
    const bins = this.model.binsOf(this.column), step = (bins.high - bins.low) / BINS;
    const [low, high] = this.#edges(bins), now = end === "low" ? low : high;
    const moves = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -8, PageUp: 8, Home: -Infinity, End: Infinity };
    if (!(event.key in moves)) return;
    event.preventDefault();
    const moved = Math.max(bins.low, Math.min(bins.high, now + moves[event.key] * step));
    const limits = end === "low" ? this.#limits(Math.min(moved, high), high, bins) : this.#limits(low, Math.max(low, moved), bins);
    this.#set({ [end]: limits[end] });
  }

  /** Places of the filter's ends. */
  #edges({ low, high }) {
    const { filter } = this;
    const of = (value, end) => {
      if (value === null || value === undefined) return end;
      const found = this.#toPlace(value);
      return Number.isNaN(found) ? end : Math.max(low, Math.min(high, found));
    };
    return [of(filter?.low, low), of(filter?.high, high)];
  }

  /** @param {DOMRect} size of the bars, the same for all columns */
  draw(size) {
    const { model, filter } = this;
    const bins = model.binsOf(this.column), counts = model.counts.get(this.name);
    this.#bars(size, bins.total, counts);
    say(this.head.says, counts[BINS] ? `${thousands(counts[BINS])} missing` : "");
    const says = JSON.stringify([filter, this.kind, bins.low, bins.high]);
    if (says !== this.says) this.#limitsShown(bins);
    this.says = says;
  }

  /** Bars of all rows, and before them of those that pass. */
  #bars(size, total, counts) {
    const { canvas, model } = this, colors = theme(), ratio = deviceRatio(size);
    const [width, height] = [size.width, size.height].map((v) => Math.max(1, Math.round(v * ratio)));
    if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
    const image = new ImageData(width, height), pixels = new Uint32Array(image.data.buffer);
    const most = Math.sqrt(Math.max(1, ...total.subarray(0, BINS))), bar = width / BINS, gap = bar > 4 * ratio ? Math.round(ratio) : 0;
    // the root, so that a rare value is still seen; a bar that is not empty is never invisible
    const tall = (count) => (count ? Math.max(Math.ceil(1.5 * ratio), Math.round(Math.sqrt(count) / most * (height - 2 * ratio))) : 0);
    const colored = model.state.now.color === this.name, [grey, accent] = [pixelOf(colors.bar), pixelOf(colors.accent)];
    for (let k = 0; k < BINS; k++) {
      const from = Math.round(k * bar), to = Math.max(from + 1, Math.round((k + 1) * bar) - gap);
      const paint = colored ? pixelOf(ramp(model.state.now.palette, k / (BINS - 1))) : accent;
      const middle = height - tall(counts[k]);
      for (let y = height - tall(total[k]); y < height; y++) {
        for (let at = y * width + from, end = y * width + to; at < end; at++) pixels[at] = y < middle ? grey : paint;
      }
    }
    canvas.getContext("2d").putImageData(image, 0, 0);
  }

  /** The brush, its ends as numbers, and the scale. */
  #limitsShown(bins) {
    const { filter } = this, [low, high] = this.#edges(bins);
    const share = (place) => 100 * (place - bins.low) / (bins.high - bins.low);
    this.element.classList.toggle("active", Boolean(filter));
    this.range.classList.toggle("outside", Boolean(filter?.outside));
    this.range.hidden = !filter || (filter.low === null && filter.high === null);
    [this.range.style.left, this.range.style.right] = [`${share(low)}%`, `${100 - share(high)}%`];
    for (const [k, place] of [low, high].entries()) {
      const [handle, input, value] = [this.handles[k], this.ends[k], filter?.[k ? "high" : "low"] ?? null];
      const now = { min: 0, max: 100, now: Math.round(share(place)), text: placeText(this.column, this.kind, place) };
      for (const [name, of] of Object.entries(now)) handle.setAttribute(`aria-value${name}`, String(of));
      handle.style.left = `${share(place)}%`;
      if (this.element.getRootNode().activeElement !== input) input.value = value === null ? placeText(this.column, this.kind, place) : number(value);
    }
    say(this.scale, this.kind);
    this.outside.setAttribute("aria-pressed", String(Boolean(filter?.outside)));
  }
}

class Toggles {
  constructor(model, column) {
    Object.assign(this, { model, name: column.name });
    this.only = h("button.scale", { type: "button", onclick: () => this.#all() }, "all");
    this.head = head(model, column, this.only);
    this.rows = h("div.labels");
    this.element = h("div.filter", {}, this.head.element, this.rows);
    this.element.dataset.name = column.name;
    this.refresh(column);
  }

  refresh(column) {
    this.column = column;
    const { total } = this.model.binsOf(column);
    const many = column.labels.length > BINS;
    const shown = column.labels.map((label, code) => ({ label, code }));
    if (!many) shown.sort((a, b) => total[b.code] - total[a.code]);
    this.shown = many ? [] : shown.slice(0, MAX_LABELS);
    this.entries = this.shown.map(({ label, code }) => {
      const fill = h("span.fill"), count = h("span.count");
      const name = h("span.label", { title: label }, label === "" ? "(empty)" : label);
      const element = h("button.toggle", { type: "button", onclick: (event) => this.#toggle(label, event) }, fill, name, count);
      return { label, code, fill, count, element };
    });
    const rest = column.labels.length - this.shown.length;
    const note = rest ? [h("p.rest", {}, many ? `${thousands(rest)} different; search finds them` : `${thousands(rest)} more; search finds them`)] : [];
    this.rows.replaceChildren(...this.entries.map(({ element }) => element), ...note);
  }

  #set(off) {
    const { [this.name]: _, ...rest } = this.model.state.now.filters;
    this.model.state.set({ filters: off.length ? { ...rest, [this.name]: { off } } : rest });
  }

  #all() { this.#set([]); }

  /** A click shows or hides a label; with Ctrl, all others. */
  #toggle(label, event) {
    const off = entry(this.model.state.now.filters, this.name)?.off ?? [];
    if (event.ctrlKey || event.metaKey) {
      const others = this.column.labels.filter((other) => other !== label);
      return this.#set(off.length === others.length && !off.includes(label) ? [] : others);
    }
    this.#set(off.includes(label) ? off.filter((other) => other !== label) : [...off, label]);
  }

  draw() {
    const { model } = this, counts = model.counts.get(this.name), { total } = model.binsOf(this.column);
    const off = new Set(entry(model.state.now.filters, this.name)?.off ?? []);
    const most = Math.max(1, ...this.shown.map(({ code }) => total[code]));
    const colored = model.state.now.color === this.name;
    for (const { label, code, fill, count, element } of this.entries) {
      const on = !off.has(label);
      element.setAttribute("aria-pressed", String(on));
      fill.style.width = `${100 * (on ? counts[code] : 0) / most}%`;
      fill.style.background = colored ? category(code) : "";
      say(count, thousands(counts[code]));
    }
    this.element.classList.toggle("active", off.size > 0);
    say(this.head.says, off.size ? `${off.size} off` : "");
  }
}
