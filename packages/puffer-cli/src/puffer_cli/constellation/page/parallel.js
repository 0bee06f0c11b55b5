// Parallel coordinates: bands from counts of pairs where rows are many, lines where they are few.

import { View } from "./model.js";
import { button, deviceRatio, fill, h, s, select } from "./dom.js";
import { brief, placeText, shorten } from "./axes.js";
import { columnChoices } from "./columns.js";
import { theme } from "./theme.js";
import { ICONS } from "./icons.js";
import { thousands } from "./scales.js";

const LEVELS = 32;
const LINES = 400; // rows up to which each is a line
const SHADES = 6;
const MARGIN = { left: 56, right: 66, top: 34, bottom: 14 };
const KEYS = ["data", "resize", "filters", "lassos", "search", "axes", "scales", "color", "palette", "theme", "settle"];

export class Parallel extends View {
  constructor(model) {
    const plot = h("div.plot", { role: "img", "aria-label": "Parallel coordinates" });
    super(model, plot, true);
    this.plot = plot;
    this.canvas = h("canvas.points", { "aria-hidden": "true" });
    this.over = s("svg", { class: "over", "aria-hidden": "true" });
    this.marks = s("g");
    this.frame = s("g");
    this.over.append(this.frame, this.marks);
    plot.append(this.canvas, this.over);
    this.add = select("Add an axis", [], "", (name) => {
      if (name) this.state.set({ axes: [...this.mine, name].slice(-12) });
      this.add.value = "";
    });
    this.chips = h("span.chips");
    this.panel = h("section.panel.parallel", { "aria-label": "Parallel coordinates" },
      h("header", {}, this.chips, this.add), plot);
  }

  get mine() { return this.state.now.axes.filter((name) => this.model.column(name)); }

  draw(keys) {
    if (keys.has("data") || keys.has("axes")) this.#head();
    if (KEYS.some((key) => keys.has(key))) this.#draw();
    else if (keys.has("hover") || keys.has("pins")) this.#marks();
  }

  #head() {
    fill(this.add, columnChoices(this.model, { empty: "+ axis" }), "");
    const { mine } = this;
    this.chips.replaceChildren(...mine.map((name, k) => h("span.chip", {},
      k > 0 ? button(`Move ${name} to the left`, ICONS.left, () => {
        const next = [...mine];
        [next[k - 1], next[k]] = [next[k], next[k - 1]];
        this.state.set({ axes: next });
      }) : null,
      h("span", {}, shorten(brief(this.model, name), 22)),
      button(`Remove the axis ${name}`, ICONS.close, () => this.state.set({ axes: mine.filter((other) => other !== name) })))));
  }

  #draw() {
    const { model, canvas } = this, colors = theme();
    const { width: w, height: t } = this.size, ratio = deviceRatio(this.size);
    const [width, height] = [w, t].map((v) => Math.round(v * ratio));
    if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
    Object.assign(canvas.style, { left: "0", top: "0", width: `${w}px`, height: `${t}px` });
    const context = canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, w, t);
    const axes = this.axes = this.mine.map((name) => {
      const column = model.column(name), bins = model.binsOf(column);
      let { low, high } = bins;
      if (column.labels) [low, high] = [-0.5, Math.max(0.5, column.labels.length - 0.5)];
      return { column, bins, low, high };
    });
    this.box = { left: MARGIN.left, right: w - MARGIN.right, top: MARGIN.top, bottom: t - MARGIN.bottom };
    const gap = (this.box.right - this.box.left) / Math.max(1, axes.length - 1);
    axes.forEach((axis, k) => { axis.x = this.box.left + k * gap; });
    if (axes.length > 1) {
      if (model.count <= LINES) this.#lines(context, axes);
      else this.#bands(context, axes, colors);
    }
    this.#axes(axes);
    this.#marks();
    this.plot.setAttribute("aria-label", `Parallel coordinates of ${thousands(model.count)} ${model.header.unit}s: ${this.mine.map((name) => brief(model, name)).join(", ")}`);
  }

  #y(axis, place) {
    return this.box.bottom - (place - axis.low) / (axis.high - axis.low) * (this.box.bottom - this.box.top);
  }

  /** Heights of a row on all axes. */
  #path(row, axes) {
    return axes.map((axis) => {
      const v = this.model.place(axis.column).block.a[row];
      return [axis.x, Number.isFinite(v) ? this.#y(axis, v) : NaN];
    });
  }

  #lines(context, axes) {
    const { model } = this, fails = model.fails.a, color = model.color.a, palette = model.palette.a;
    context.lineWidth = 1.1;
    context.globalAlpha = model.count > 120 ? 0.4 : 0.7;
    for (let row = 0; row < model.n; row++) {
      if (fails[row] !== 0) continue;
      const p = palette[color[row]];
      context.strokeStyle = `rgb(${p & 255} ${p >> 8 & 255} ${p >> 16 & 255})`;
      context.beginPath();
      let pen = false;
      for (const [x, y] of this.#path(row, axes)) {
        if (!Number.isFinite(y)) { pen = false; continue; }
        if (pen) context.lineTo(x, y);
        else context.moveTo(x, y);
        pen = true;
      }
      context.stroke();
    }
    context.globalAlpha = 1;
  }

  /** Between two axes: a band for each pair of levels, in a few shades by how many rows it holds. */
  #bands(context, axes, colors) {
    const { model } = this, counts = model.core.make(Uint32Array, LEVELS * LEVELS);
    context.fillStyle = colors.accent;
    for (let k = 0; k + 1 < axes.length; k++) {
      const [a, b] = [axes[k], axes[k + 1]];
      model.core.pairs(a.bins.block, b.bins.block, model.n, model.fails, counts);
      model.stats.rows += model.n;
      const found = counts.a, paths = Array.from({ length: SHADES }, () => new Path2D());
      let most = 1;
      for (let i = 0; i < found.length; i++) most = Math.max(most, found[i]);
      const ends = (axis, level) => [level, level + 1].map((edge) => this.#y(axis, axis.bins.low + edge / LEVELS * (axis.bins.high - axis.bins.low)));
      const from = [...Array(LEVELS).keys()].map((level) => ends(a, level));
      const to = [...Array(LEVELS).keys()].map((level) => ends(b, level));
      for (let i = 0; i < found.length; i++) {
        if (!found[i]) continue;
        const shade = Math.min(SHADES - 1, Math.floor(Math.sqrt(found[i] / most) * SHADES));
        const [l, r] = [from[i >> 5], to[i & 31]], path = paths[shade];
        path.moveTo(a.x, l[0]);
        path.lineTo(b.x, r[0]);
        path.lineTo(b.x, r[1]);
        path.lineTo(a.x, l[1]);
      }
      paths.forEach((path, shade) => {
        context.globalAlpha = 0.03 + 0.4 * (shade / (SHADES - 1)) ** 2;
        context.fill(path);
      });
    }
    context.globalAlpha = 1;
    model.core.free(counts);
  }

  #axes(axes) {
    const parts = [], { top, bottom } = this.box;
    axes.forEach((axis, k) => {
      const { column, x } = axis, kind = this.model.scaleOf(column);
      const anchor = k === 0 ? "start" : k === axes.length - 1 ? "end" : "middle";
      parts.push(s("line", { class: "axis", x1: x, x2: x, y1: top, y2: bottom }));
      parts.push(s("text", { class: "tick strong", x: anchor === "middle" ? x : x + (anchor === "start" ? -46 : 48), y: 14, "text-anchor": anchor }, shorten(brief(this.model, column.name), 18)));
      const side = k === axes.length - 1 ? ["start", 6] : ["end", -6];
      const label = (place, y) => parts.push(s("text", { class: "tick", x: x + side[1], y, "text-anchor": side[0] }, shorten(placeText(column, kind, place), 8)));
      if (column.labels) {
        const { length } = column.labels;
        for (let c = 0; c < length && length <= 12; c++) label(c, this.#y(axis, c) + 4);
      } else {
        label(axis.high, top + 4);
        label((axis.low + axis.high) / 2, (top + bottom) / 2 + 4);
        label(axis.low, bottom + 4);
      }
    });
    this.frame.replaceChildren(...parts);
  }

  #marks() {
    if (!this.axes || this.axes.length < 2) return;
    const { model } = this, parts = [];
    const line = (row, kind) => {
      if (row < 0 || row >= model.n) return;
      const points = this.#path(row, this.axes).filter(([, y]) => Number.isFinite(y));
      if (points.length > 1) parts.push(s("path", { class: `curve ${kind}`, d: `M${points.map((p) => p.map((v) => v.toFixed(1)).join(" ")).join("L")}` }));
    };
    for (const row of this.state.now.pins) line(row, "pinned");
    line(model.hover, "hovered");
    this.marks.replaceChildren(...parts);
  }
}
