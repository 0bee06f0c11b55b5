// Colours that drawings need as numbers; they come from the style sheet.

import { pixelOf, setDark } from "./colors.js";

let current = null;

/** The colours in force. */
export const theme = () => current;

/** Read the colours anew: the theme, or what the system prefers, has changed. */
export function readTheme(element) {
  const style = getComputedStyle(element);
  const hex = (name) => toHex(style.getPropertyValue(name).trim());
  current = {
    dark: style.getPropertyValue("--dark").trim() === "1",
    accent: hex("--accent"), text: hex("--text"), muted: hex("--muted"), line: hex("--line"),
    panel: hex("--panel"), context: hex("--context"), bar: hex("--bar"),
    font: style.fontFamily,
  };
  setDark(current.dark);
  current.panelPixel = pixelOf(current.panel);
  current.contextPixel = pixelOf(current.context);
  return current;
}

/** Any CSS colour as #rrggbb; also system colours, as forced-colors mode has them. */
function toHex(color) {
  if (/^#[0-9a-f]{6}$/i.test(color)) return color;
  const canvas = new OffscreenCanvas(1, 1).getContext("2d");
  canvas.fillStyle = color;
  canvas.fillRect(0, 0, 1, 1);
  const [r, g, b] = canvas.getImageData(0, 0, 1, 1).data;
  return `#${[r, g, b].map((v) => v.toString(16).padStart(2, "0")).join("")}`;
}
