// Points in space, turned by dragging; the core draws them as it draws a plane.

import { View } from "./model.js";
import { button, choose, deviceRatio, h, s, say, select } from "./dom.js";
import { brief } from "./axes.js";
import { choices, tooltip } from "./columns.js";
import { Painter } from "./painter.js";
import { MAX_PINS } from "./state.js";
import { ICONS } from "./icons.js";
import { thousands } from "./scales.js";

const CORNERS = [...Array(8).keys()].map((k) => [k & 1, k >> 1 & 1, k >> 2 & 1].map((v) => v * 2 - 1));
const EDGES = CORNERS.flatMap((a, i) => CORNERS.map((b, j) => [i, j, a.filter((v, k) => v !== b[k]).length]))
  .filter(([i, j, apart]) => i < j && apart === 1);
const KEYS = ["data", "resize", "filters", "lassos", "search", "scales", "color", "palette", "shape", "size", "theme", "draw", "settle", "cloud"];

export class Cloud extends View {
  constructor(model) {
    const plot = h("div.plot", { tabIndex: 0, role: "application", "aria-label": "Plot" });
    super(model, plot, true);
    this.plot = plot;
    this.canvas = h("canvas.points", { "aria-hidden": "true" });
    this.painter = new Painter(model, this.canvas);
    this.frame = s("g");
    this.over = s("g");
    plot.append(this.canvas, s("svg", { class: "over", "aria-hidden": "true" }, this.frame, this.over));
    this.note = h("p.foot");
    this.pickers = ["x", "y", "z"].map((axis) => select(`${axis} axis of the space`, [], "", (name) => this.#set({ [axis]: name })));
    this.panel = h("section.panel.cloud", { "aria-label": "Space" },
      h("header", {}, ...this.pickers, h("span.grow"),
        button("Turn back", ICONS.reset, () => this.#set({ turn: [0.6, 0.35] }))), plot, this.note);
    this.#listen();
  }

  get mine() { return this.state.now.cloud; }
  #set(patch, commit = true) { this.state.set({ cloud: { ...this.mine, ...patch } }, commit); }

  draw(keys) {
    const { model } = this, names = ["x", "y", "z"];
    if (keys.has("data")) for (const picker of this.pickers) choices(picker, model);
    names.forEach((axis, k) => choose(this.pickers[k], this.mine[axis]));
    const columns = names.map((axis) => model.column(this.mine[axis]));
    if (columns.some((column) => !column)) return;
    if (KEYS.some((key) => keys.has(key))) this.#points(columns);
    this.#marks();
  }

  #points(columns) {
    const { model } = this, { n } = model;
    const ratio = deviceRatio(this.size), [width, height] = [this.size.width, this.size.height].map((v) => Math.max(1, Math.round(v * ratio)));
    if (this.core !== model.core) {
      this.core = model.core;
      this.flat = [0, 1].map(() => model.core.make(Float32Array, n));
    }
    const [a, b] = this.mine.turn, [ca, sa, cb, sb] = [Math.cos(a), Math.sin(a), Math.cos(b), Math.sin(b)];
    this.rotation = [[ca, 0, sa], [sa * sb, cb, -ca * sb]]; // rows: right, up
    const places = columns.map((column) => model.place(column));
    // each coordinate to -1..1, then turned: both steps are one line of a matrix
    const scale = places.map(({ low, high }) => (high > low ? 2 / (high - low) : 0));
    const rows = this.rotation.map((row) => {
      const factors = row.map((v, k) => v * scale[k]);
      return [...factors, -factors.reduce((sum, f, k) => sum + f * places[k].low, 0) - row.reduce((x, y, k) => x + (scale[k] ? y : 0), 0)];
    });
    const [px, py, pz] = places.map(({ block }) => block.a), [u, v] = this.flat.map((block) => block.a);
    const [[a0, a1, a2, a3], [b0, b1, b2, b3]] = rows;
    for (let i = 0, { step } = model; i < n; i += step) {
      const x = px[i], y = py[i], z = pz[i];
      u[i] = a0 * x + a1 * y + a2 * z + a3;
      v[i] = b0 * x + b1 * y + b2 * z + b3;
    }
    const size = 0.31 * Math.min(width, height);
    this.map = [size, width / 2, -size, height / 2, -1000, -1000];
    this.ratio = ratio;
    this.painter.ground = null; // the same blocks hold other places
    for (const block of this.flat) block.version = (block.version ?? 0) + 1;
    this.painter.draw(...this.flat, this.map, ratio, width, height);
    this.#frame(columns);
    const out = n - Math.min(...places.map(({ finite }) => finite));
    say(this.note, out ? `at least ${thousands(out)} without a place: missing, not finite, or not positive` : "");
    this.plot.setAttribute("aria-label", `${columns.map((column) => brief(model, column.name)).join(", ")} in space: ${thousands(model.count)} ${model.header.unit}s. Arrow keys turn.`);
  }

  /** Where a corner of the cube is, in CSS pixels. */
  #project(point) {
    const [size, cx, , cy] = this.map.map((v) => v / this.ratio);
    const [u, v] = this.rotation.map((row) => row.reduce((sum, f, k) => sum + f * point[k], 0));
    return [cx + size * u, cy - size * v];
  }

  #frame(columns) {
    const at = CORNERS.map((corner) => this.#project(corner)), parts = [];
    for (const [i, j] of EDGES) {
      parts.push(s("line", { class: "grid", x1: at[i][0], y1: at[i][1], x2: at[j][0], y2: at[j][1] }));
    }
    columns.forEach((column, k) => {
      const end = [-1, -1, -1];
      end[k] = 1.12;
      const [x, y] = this.#project(end);
      parts.push(s("text", { class: "tick strong", x, y, "text-anchor": "middle" }, brief(this.model, column.name)));
    });
    this.frame.replaceChildren(...parts);
  }

  #marks() {
    if (!this.map) return;
    const { model } = this, parts = [];
    const ring = (row, kind, r, name) => {
      if (row < 0 || row >= model.n) return;
      const [cx, cy] = [0, 1].map((k) => (this.flat[k].a[row] * this.map[2 * k] + this.map[2 * k + 1]) / this.ratio);
      if (!Number.isFinite(cx + cy)) return;
      parts.push(s("circle", { class: kind, cx, cy, r }));
      if (name) parts.push(s("text", { class: "pin-name", x: cx, y: cy - 12, "text-anchor": "middle" }, name));
    };
    this.state.now.pins.forEach((row, k) => ring(row, "pin", 8, String(k + 1)));
    ring(model.hover, "hover", 7);
    this.over.replaceChildren(...parts);
  }

  #listen() {
    const { plot, model } = this;
    let drag = null;
    plot.onpointerdown = (event) => {
      if (event.button !== 0) return;
      drag = { x: event.clientX, y: event.clientY, turn: this.mine.turn, moved: false };
      plot.setPointerCapture(event.pointerId);
    };
    plot.onpointermove = (event) => {
      if (!drag) return this.#hover(event);
      const [dx, dy] = [event.clientX - drag.x, event.clientY - drag.y];
      drag.moved ||= Math.hypot(dx, dy) > 3;
      if (!drag.moved) return;
      model.touch();
      this.#turn(drag.turn, dx * 0.008, dy * 0.008, false);
    };
    plot.onpointerup = () => {
      if (drag && !drag.moved && model.hover >= 0) model.pin(model.hover, MAX_PINS);
      if (drag?.moved) this.state.commit();
      drag = null;
    };
    plot.onpointercancel = () => { drag = null; };
    plot.onpointerleave = () => {
      if (drag) return;
      model.point(-1);
      tooltip(model, -1);
    };
    plot.onkeydown = (event) => {
      const by = { ArrowLeft: [-0.1, 0], ArrowRight: [0.1, 0], ArrowUp: [0, -0.1], ArrowDown: [0, 0.1] }[event.key];
      if (!by) return;
      event.preventDefault();
      this.#turn(this.mine.turn, ...by, true);
    };
  }

  #turn([a, b], dx, dy, commit) {
    const up = Math.max(-1.5, Math.min(1.5, b + dy));
    this.#set({ turn: [a + dx, up].map((v) => Number(v.toFixed(4))) }, commit);
  }

  #hover(event) {
    if (!this.map) return;
    const { model } = this, { left, top } = this.plot.getBoundingClientRect();
    const at = [event.clientX - left, event.clientY - top].map((v) => v * this.ratio);
    const row = model.core.nearest(...this.flat, model.n, this.painter.map, model.fails, ...at, 16 * this.ratio);
    model.point(row);
    tooltip(model, row, event, ["x", "y", "z"].map((axis) => model.column(this.mine[axis])));
  }
}
