// The rows that pass, as a table: only what is on screen is built.

import { View } from "./model.js";
import { h } from "./dom.js";
import { brief, valueText } from "./axes.js";
import { thousands } from "./scales.js";
import { MAX_PINS } from "./state.js";

const HEIGHT = 30; // of a row
const TALLEST = 8e6; // pixels that browsers scroll exactly

export class Rows extends View {
  constructor(model) {
    const scroller = h("div.scroller", { tabIndex: 0, role: "grid", "aria-label": "Rows that pass" });
    super(model, scroller, true);
    this.scroller = scroller;
    this.head = h("div.row.head", { role: "row" });
    this.space = h("div.space", { role: "rowgroup" });
    scroller.append(h("div", { role: "rowgroup", className: "sticky" }, this.head), this.space);
    this.first = -1;
    this.current = 0;
    this.title = h("h2", {}, "Table");
    this.panel = h("section.panel.table", { "aria-label": "Table" }, h("header", {}, this.title), scroller);
    scroller.onscroll = () => this.#rows(false);
    scroller.onkeydown = (event) => this.#key(event);
    this.space.onpointerover = ({ target }) => {
      const row = target.closest?.(".row");
      if (row?.dataset.row) model.point(Number(row.dataset.row));
    };
    this.space.onpointerleave = () => model.point(-1);
    this.space.onclick = ({ target }) => {
      const row = target.closest?.(".row");
      if (row?.dataset.row) model.pin(Number(row.dataset.row), MAX_PINS);
    };
  }

  /** What is shown: what the runs are, the objective, then what varies. */
  #columns() {
    const { model } = this, { cost, score, color, filters } = this.state.now;
    const first = ["run", "env", score, cost, color, ...Object.keys(filters)];
    const rank = { result: 1, setting: 0, projection: 3, info: 2 };
    const rest = model.columns.filter((column) => !column.constant)
      .sort((a, b) => rank[a.group ?? "result"] - rank[b.group ?? "result"]).map((column) => column.name);
    const names = [...new Set([...first, ...rest])].filter((name) => model.column(name)).slice(0, 40);
    return names.map((name) => model.column(name));
  }

  draw(keys) {
    const { model } = this;
    const anew = ["data", "filters", "lassos", "search", "sort", "cost", "score", "color", "settle"].some((key) => keys.has(key));
    if (anew && model.moving) return void this.pending.add("settle");
    if (anew) {
      this.columns = this.#columns();
      const { by, down } = this.state.now.sort;
      this.rows = model.sorted(by || this.state.now.score, by ? down : !this.state.now.least);
      this.#header();
      this.space.style.height = `${Math.min(TALLEST, this.rows.length * HEIGHT)}px`;
      this.scroller.setAttribute("aria-rowcount", String(this.rows.length + 1));
      this.title.textContent = `${thousands(this.rows.length)} ${model.header.unit}${this.rows.length === 1 ? "" : "s"}`;
      this.#rows(true);
    } else if (keys.has("resize")) this.#rows(true);
    else if (keys.has("hover") || keys.has("pins")) this.#paint();
  }

  #header() {
    const { by, down } = this.state.now.sort, sorted = by || this.state.now.score;
    this.head.replaceChildren(...this.columns.map((column) => {
      const on = column.name === sorted, falling = by ? down : !this.state.now.least;
      const mark = on ? (falling ? " ↓" : " ↑") : "";
      return h(`div.cell${column.labels ? "" : ".number"}`, { role: "columnheader", "aria-sort": on ? (falling ? "descending" : "ascending") : "none" },
        h("button", { type: "button", title: `Sort by ${column.name}`, onclick: () => this.state.set({ sort: { by: column.name, down: on ? !falling : !column.labels } }) },
          brief(this.model, column.name) + mark));
    }));
    this.scroller.style.setProperty("--columns", this.columns.map((column) => (column.labels ? "minmax(9rem, 1fr)" : "6.6rem")).join(" "));
  }

  /** Share of the scroll that one row takes; less than its height where rows are very many. */
  get #pitch() { return Math.min(HEIGHT, TALLEST / Math.max(1, this.rows.length)); }

  #rows(force) {
    if (!this.rows) return;
    const { scrollTop, clientHeight } = this.scroller, pitch = this.#pitch;
    const many = Math.ceil(clientHeight / HEIGHT) + 2;
    const first = Math.max(0, Math.min(this.rows.length - 1, Math.floor(scrollTop / pitch)));
    if (!force && first === this.first) return;
    this.first = first;
    const offset = pitch === HEIGHT ? first * HEIGHT : scrollTop;
    const built = [];
    for (let k = first; k < Math.min(this.rows.length, first + many); k++) {
      const row = this.rows[k];
      const cells = this.columns.map((column) => h(`div.cell${column.labels ? "" : ".number"}`, { role: "gridcell", title: column.labels ? valueText(this.model, column, row) : undefined }, valueText(this.model, column, row)));
      const element = h("div.row", { role: "row", "aria-rowindex": k + 2 }, ...cells);
      element.dataset.row = row;
      element.style.transform = `translateY(${offset + (k - first) * HEIGHT}px)`;
      built.push(element);
    }
    this.space.replaceChildren(...built);
    this.#paint();
  }

  #paint() {
    const { pins } = this.state.now;
    for (const element of this.space.children) {
      const row = Number(element.dataset.row), pinned = pins.includes(row);
      element.classList.toggle("hovered", row === this.model.hover);
      element.classList.toggle("pinned", pinned);
      element.setAttribute("aria-selected", String(pinned));
    }
  }

  #key(event) {
    if (event.target !== this.scroller || !this.rows?.length) return;
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10, Home: -Infinity, End: Infinity };
    if (event.key in steps) {
      const now = this.rows.indexOf(this.model.hover);
      const next = Math.max(0, Math.min(this.rows.length - 1, (now < 0 ? -1 : now) + steps[event.key]));
      const pitch = this.#pitch, at = next * pitch, { scrollTop, clientHeight } = this.scroller;
      if (at < scrollTop) this.scroller.scrollTop = at;
      else if (at > scrollTop + clientHeight - 3 * HEIGHT) this.scroller.scrollTop = at - clientHeight + 3 * HEIGHT;
      this.model.point(this.rows[next]);
    } else if ((event.key === "Enter" || event.key === " ") && this.model.hover >= 0) this.model.pin(this.model.hover, MAX_PINS);
    else return;
    event.preventDefault();
  }
}
