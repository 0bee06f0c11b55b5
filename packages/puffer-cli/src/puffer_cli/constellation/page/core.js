// The core that a page computes with: WebAssembly, or plain.js where there is none.

/** @typedef {Float32Array|Float64Array|Uint8Array|Uint32Array} TypedArray */

/**
 * Memory of the JavaScript core: plain typed arrays.
 * A handle has `a`, the array, and `part(first, n)`, a handle of a part of it.
 */
class Plain {
  /** @param {TypedArray} array */
  constructor(array) { this.a = array; }
  part(first, n) { return new Plain(this.a.subarray(first, first + n)); }
}

/** A handle on WebAssembly memory; the memory may grow, so the array is looked up anew. */
class Block {
  constructor(memory, type, address, n) {
    Object.assign(this, { memory, type, address, n, array: null });
  }
  get a() {
    if (this.array === null || this.array.buffer !== this.memory.buffer) {
      this.array = new this.type(this.memory.buffer, this.address, this.n);
    }
    return this.array;
  }
  part(first, n) {
    const address = this.address + first * this.type.BYTES_PER_ELEMENT;
    return new Block(this.memory, this.type, address, n);
  }
}

/** The core without WebAssembly, with the interface that `wasmCore` has. */
export async function plainCore() {
  const { functions } = await import("./plain.js");
  const core = { name: "javascript", make: (type, n) => new Plain(new type(n)), free() {} };
  for (const [name, f] of Object.entries(functions)) {
    core[name.slice(5)] = (...args) => f(...args.map((v) => (v instanceof Plain ? v.a : v)));
  }
  return core;
}

/**
 * The core in WebAssembly.
 * @param {BufferSource|WebAssembly.Module} bytes of core.wasm
 */
export async function wasmCore(bytes) {
  const module = bytes instanceof WebAssembly.Module ? bytes : await WebAssembly.compile(bytes);
  const instance = await WebAssembly.instantiate(module, {});
  const { memory, __heap_base: base } = /** @type {any} */ (instance.exports);
  let top = base.value + 15 & ~15;
  /** @type {Map<number, number[]>} addresses by size */
  const free = new Map();
  const core = {
    name: "webassembly",
    make(type, n) {
      const size = n * type.BYTES_PER_ELEMENT + 31 & ~15; // with room: nothing ends at the end
      let address = free.get(size)?.pop();
      if (address === undefined) {
        address = top;
        top += size;
        const missing = top - memory.buffer.byteLength;
        if (missing > 0) memory.grow(Math.ceil(missing / 65536));
      }
      const block = new Block(memory, type, address, n);
      block.a.fill(0);
      return block;
    },
    free(block) {
      const size = block.n * block.type.BYTES_PER_ELEMENT + 31 & ~15;
      if (!free.has(size)) free.set(size, []);
      free.get(size).push(block.address);
    },
  };
  for (const [name, f] of Object.entries(/** @type {any} */ (instance.exports))) {
    if (name.startsWith("core_")) core[name.slice(5)] = (...args) => {
      const result = f(...args.map((v) => (v === null ? 0 : v instanceof Block ? v.address : v)));
      return name === "core_nearest" || result === undefined ? result : result >>> 0;
    };
  }
  return core;
}

/**
 * The fastest core that this page may use.
 * @param {() => Promise<BufferSource|WebAssembly.Module>} load gives core.wasm
 */
export async function makeCore(load) {
  try {
    const bytes = await load();
    if (bytes) return await wasmCore(bytes);
  } catch (error) { // forbidden by a content security policy, or not built
    console.info(`Constellation: without WebAssembly (${error})`);
  }
  return plainCore();
}
