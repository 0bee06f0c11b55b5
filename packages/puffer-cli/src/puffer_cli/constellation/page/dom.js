// Small help with elements. Text only ever enters as text, never as markup.

const SVG = "http://www.w3.org/2000/svg";

/**
 * An element: `h("div.panel", {title: "x", onclick: f}, "text", child)`.
 * Properties that the element has are set, others become attributes.
 * @param {string} tag name, with classes after dots
 */
export function h(tag, properties = {}, ...children) {
  const [name, ...classes] = tag.split(".");
  const element = document.createElement(name);
  if (classes.length) element.className = classes.join(" ");
  for (const [key, value] of Object.entries(properties)) {
    if (value === undefined || value === null) continue;
    if (key in element && !key.startsWith("aria") && key !== "list") element[key] = value;
    else element.setAttribute(key, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

/** An SVG element with attributes. */
export function s(name, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

/** A select of [value, label] pairs, grouped by an optional third entry. */
export function select(label, choices, value, onpick) {
  const element = h("select", { "aria-label": label, title: label });
  fill(element, choices, value);
  element.onchange = () => onpick(element.value);
  return element;
}

/** Replace the choices of a select. */
export function fill(element, choices, value) {
  const groups = new Map();
  element.replaceChildren();
  for (const [key, text, group] of choices) {
    const option = h("option", { value: key, textContent: text });
    if (!group) {
      element.append(option);
      continue;
    }
    if (!groups.has(group)) {
      groups.set(group, h("optgroup", { label: group }));
      element.append(groups.get(group));
    }
    groups.get(group).append(option);
  }
  element.value = value ?? "";
}

/** A small icon button. */
export function button(label, path, onclick, properties = {}) {
  const icon = s("svg", { viewBox: "0 0 16 16", width: 16, height: 16, "aria-hidden": "true" });
  for (const d of [path].flat()) icon.append(s("path", { d }));
  const attributes = { type: "button", title: label, "aria-label": label, onclick, ...properties };
  return h("button.icon", attributes, icon);
}

/** Offer bytes or text for download. */
export function download(name, content, type) {
  const url = URL.createObjectURL(new Blob([content], { type }));
  h("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

/** Copy text; true if the browser allowed it. */
export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch { // no permission, or no secure context
    const area = h("textarea", { value: text });
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}

/** Set the choice of a select, unless it is that: setting looks at all of them. */
export function choose(element, value) {
  if (element.value !== value) element.value = value;
}

/** Set a text, unless it stands there: what does not change is not laid out anew. */
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** Device pixels to a CSS pixel, so that a size has at most `most` of them. */
export function deviceRatio({ width, height }, most = 4e6) {
  const ratio = window.devicePixelRatio || 1;
  return width * height * ratio * ratio > most ? Math.max(1, Math.sqrt(most / width / height)) : ratio;
}
