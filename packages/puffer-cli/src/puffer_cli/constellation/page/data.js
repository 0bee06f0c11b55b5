// Read the data: from files beside the page, or from what is embedded in it.

const TYPES = { f4: Float32Array, f8: Float64Array, u1: Uint8Array, u2: Uint16Array, u4: Uint32Array };
const MAGIC = "PUFSTAR1";

/**
 * @typedef {object} Column
 * @property {string} name
 * @property {"number"|"category"} kind
 * @property {string[]|null} labels of the codes of a category
 * @property {"info"|"setting"|"result"|"projection"} group
 * @property {number} base to add to the values
 * @property {boolean} whole whether all values are whole numbers
 * @property {boolean} constant
 * @property {string} scale to begin with
 * @property {Float32Array|Uint8Array|Uint16Array|Uint32Array} values
 * @property {Uint8Array|null} valid one bit a row; null: all are there
 */

/**
 * Look into a file of columns; the format is described in columns.py.
 * @param {ArrayBuffer} buffer
 * @returns {{header: any, rows: number, columns: Column[], start: Uint32Array, curve: Uint32Array|null}}
 */
export function parse(buffer) {
  const text = new TextDecoder();
  if (text.decode(new Uint8Array(buffer, 0, Math.min(8, buffer.byteLength))) !== MAGIC) {
    throw new Error("this is no file of Constellation");
  }
  const from = 16 + Number(new DataView(buffer).getBigUint64(8, true));
  const header = JSON.parse(text.decode(new Uint8Array(buffer, 16, from - 16)));
  const open = (column, rows) => {
    const values = new TYPES[column.dtype](buffer, from + column.at, rows);
    const valid = column.valid === null ? null
      : new Uint8Array(buffer, from + column.valid, Math.ceil(rows / 8));
    return { base: 0, ...column, values, valid };
  };
  const { rows, start, curve } = header.tables;
  const whole = (table) => new Uint32Array(open(table.columns[0], table.rows).values);
  return {
    header,
    rows: rows.rows,
    columns: rows.columns.map((column) => open(column, rows.rows)),
    start: whole(start),
    curve: curve ? whole(curve) : null,
  };
}

/** Where the bytes come from. */
export class Source {
  /** @param {string} name of the data; other files lie beside it */
  constructor(name) {
    this.name = name;
    this.packed = name.endsWith(".gz");
    this.base = new URL(name, document.baseURI);
    this.version = null;
  }

  /** The bytes of a file, unpacked. Relative to the data, or absolute. */
  async bytes(name, base = this.base) {
    const script = document.querySelector(`script[data-name="${CSS.escape(name)}"]`);
    if (script) return unpack(fromBase64(script.textContent));
    const url = new URL(name, base);
    const versioned = name.startsWith("curve-") && this.version !== null && !this.packed;
    if (versioned) url.searchParams.set("version", this.version);
    const response = await fetch(url);
    if (!response.ok) throw new Error(`${url.pathname}: ${response.status} ${response.statusText}`);
    return unpack(await response.arrayBuffer());
  }

  async table() {
    const parsed = parse(await this.bytes(this.name));
    this.version = parsed.header.version;
    return parsed;
  }

  /** A column of the curves. */
  async curve(k) {
    return new Float32Array(await this.bytes(`curve-${k}.bin${this.packed ? ".gz" : ""}`));
  }

  /** Call `changed` with each new version, while the page is open. */
  listen(changed) {
    const events = new EventSource(new URL("events", this.base));
    events.onmessage = (event) => changed(JSON.parse(event.data).version);
    return events;
  }
}

function fromBase64(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text).buffer;
  const words = atob(text), bytes = new Uint8Array(words.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = words.charCodeAt(i);
  return bytes.buffer;
}

/** @param {ArrayBuffer} buffer that may be compressed by gzip */
async function unpack(buffer) {
  const head = new Uint8Array(buffer, 0, Math.min(2, buffer.byteLength));
  if (head[0] !== 0x1f || head[1] !== 0x8b) return buffer;
  const stream = new Blob([buffer]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).arrayBuffer();
}
