// The pinned runs side by side: everything of one, what differs of several, and their settings to copy.

import { View } from "./model.js";
import { button, copy, h } from "./dom.js";
import { valueText } from "./axes.js";
import { exact } from "./scales.js";
import { ICONS } from "./icons.js";

const GROUPS = [["result", "Results"], ["setting", "Settings"], ["info", "Run"]];

export class Details extends View {
  constructor(model) {
    const body = h("div.details");
    super(model, body, true);
    this.body = body;
    this.all = h("input", { type: "checkbox" });
    this.all.onchange = () => this.draw(new Set(["pins"]));
    this.choice = h("label.check", {}, this.all, "also what is the same");
    this.says = h("span.says", { role: "status" });
    this.panel = h("section.panel.pins", { "aria-label": "Pinned runs" },
      h("header", {}, h("h2", {}, "Pinned"), this.choice, this.says, h("span.grow"),
        ...["ini", "json", "flags"].map((form) => h("button.text", { type: "button", title: `Copy the settings of the first pinned run as ${form}`, onclick: () => this.#copy(form) }, form)),
        button("Let all go", ICONS.close, () => this.state.set({ pins: [] }))),
      body);
  }

  draw(keys) {
    if (!keys.has("data") && !keys.has("pins")) return;
    const { model } = this, pins = this.state.now.pins.filter((row) => row < model.n);
    this.panel.hidden = pins.length === 0;
    if (!pins.length) return;
    this.choice.hidden = pins.length === 1;
    const head = h("tr", {}, h("th", { scope: "col" }, ""), ...pins.map((row, k) => h("th", { scope: "col" },
      h("span.pin-number", {}, String(k + 1)), " ", model.title(row),
      button(`Let ${model.title(row)} go`, ICONS.close, () => model.pin(row, pins.length)))));
    const parts = GROUPS.map(([group, title]) => {
      const rows = model.columns.filter((column) => (column.group ?? "result") === group).flatMap((column) => {
        const texts = pins.map((row) => valueText(model, column, row, true));
        const differ = texts.some((text) => text !== texts[0]);
        if (pins.length > 1 && !differ && !this.all.checked) return [];
        if (pins.length === 1 && texts[0] === "–") return [];
        return [h(`tr${differ ? ".differ" : ""}`, {}, h("th", { scope: "row", title: column.name }, column.name), ...texts.map((text) => h("td", {}, text)))];
      });
      return rows.length ? h("tbody", {}, h("tr.part", {}, h("th", { colSpan: pins.length + 1, scope: "colgroup" }, title)), ...rows) : null;
    });
    this.body.replaceChildren(h("table", {}, h("thead", {}, head), ...parts.filter(Boolean)));
  }

  async #copy(form) {
    const [row] = this.state.now.pins;
    const done = await copy(settingsText(this.model, row, form));
    this.says.textContent = done ? `copied as ${form}` : "the browser does not allow copying";
    setTimeout(() => { this.says.textContent = ""; }, 2500);
  }
}

/** The settings of a row as a configuration: for a file (ini, json), or for the command line. */
export function settingsText(model, row, form) {
  const settings = model.columns.filter((column) => column.group === "setting");
  const chosen = (settings.length ? settings : model.columns.filter((column) => column.group !== "projection"))
    .map((column) => [column.name, model.value(column, row)])
    .filter(([, value]) => value !== null && !Number.isNaN(value));
  const text = (value) => (typeof value === "number" ? exact(value) : String(value));
  if (form === "json") {
    const plain = (value) => (value === "true" ? true : value === "false" ? false : typeof value === "number" ? Number(exact(value)) : value);
    return JSON.stringify(Object.fromEntries(chosen.map(([name, value]) => [name, plain(value)])), null, 2);
  }
  if (form === "flags") {
    const quote = (word) => (/^[\w.,:/+-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);
    return chosen.map(([name, value]) => `--${name.replaceAll("_", "-")} ${quote(text(value))}`).join(" ");
  }
  const sections = new Map();
  for (const [name, value] of chosen) {
    const dot = name.indexOf("."), section = dot < 0 ? "base" : name.slice(0, dot);
    if (!sections.has(section)) sections.set(section, []);
    sections.get(section).push(`${name.slice(dot + 1)} = ${text(value).replaceAll("\n", " ")}`);
  }
  return [...sections].map(([section, lines]) => `[${section}]\n${lines.join("\n")}\n`).join("\n");
}
