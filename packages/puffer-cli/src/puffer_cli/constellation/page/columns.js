// Choices of columns, and the tooltip that says what a row is.

import { fill, h } from "./dom.js";
import { brief, valueText } from "./axes.js";

const GROUPS = { result: "Results", setting: "Settings", projection: "Projections", info: "Runs" };

/** Columns as choices of a select: those that vary first, by group. */
export function columnChoices(model, { numbers = false, empty = null } = {}) {
  const usable = model.columns.filter((column) => !(numbers && column.labels));
  const listed = Object.keys(GROUPS).flatMap((group) => usable
    .filter((column) => (column.group ?? "result") === group && !column.constant)
    .map((column) => [column.name, brief(model, column.name), GROUPS[group]]));
  const constant = usable.filter((column) => column.constant)
    .map((column) => [column.name, brief(model, column.name), "The same everywhere"]);
  return [...(empty === null ? [] : [["", empty]]), ...listed, ...constant];
}

/** Put the columns into a select. */
export function choices(element, model, options) {
  const { value } = element;
  fill(element, columnChoices(model, options), value);
}

let tip = null;

/** The element of the tooltip; one for all views. */
export function makeTip() {
  tip = h("div.tip", { role: "status" });
  return tip;
}

/** Show what a row is, beside the pointer; row -1 hides it. */
export function tooltip(model, row, event, more = []) {
  if (!tip) return;
  tip.classList.toggle("shown", row >= 0);
  if (row < 0) return;
  if (tip.row !== row || tip.of !== model.columns) {
    tip.row = row;
    tip.of = model.columns;
    const { cost, score, color } = model.state.now;
    const names = ["env", score, cost, ...more.map((column) => column.name), color].filter(Boolean);
    const lines = [...new Set(names)].map((name) => model.column(name)).filter(Boolean).map((column) => [
      h("dt", {}, brief(model, column.name)), h("dd", {}, valueText(model, column, row)),
    ]);
    tip.replaceChildren(h("strong", {}, model.title(row)), h("dl", {}, ...lines.flat()));
  }
  if (!event) return;
  const host = tip.parentElement.getBoundingClientRect();
  const { offsetWidth: w, offsetHeight: t } = tip;
  const x = event.clientX - host.left, y = event.clientY - host.top;
  tip.style.left = `${Math.max(4, x + 16 + w > host.width ? x - 16 - w : x + 16)}px`;
  tip.style.top = `${Math.max(4, Math.min(y + 14, window.innerHeight - host.top - t - 8))}px`;
}
