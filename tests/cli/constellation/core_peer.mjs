// Runs the functions of core.js and core.wasm for test_core.py: one JSON request a line on stdin,
// {core, name, args}; an argument is a number, null or {type, data (base64)}. Answers with the
// result and the bytes of all arrays afterwards.
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";

const [page, wasm] = process.argv.slice(2);
const { plainCore, wasmCore } = await import(page);
const cores = { javascript: await plainCore() };
if (wasm) cores.webassembly = await wasmCore(readFileSync(wasm));
const types = { f4: Float32Array, f8: Float64Array, u1: Uint8Array, u4: Uint32Array };

for await (const line of createInterface({ input: process.stdin })) {
  const { core: kind, name, args } = JSON.parse(line);
  const core = cores[kind], handles = [];
  const given = args.map((arg) => {
    if (arg === null || typeof arg !== "object") return arg;
    const bytes = Buffer.from(arg.data, "base64");
    const source = new types[arg.type](bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
    const handle = core.make(types[arg.type], source.length);
    handle.a.set(source);
    handles.push(handle);
    return handle;
  });
  const result = core[name](...given);
  const arrays = handles.map(({ a }) => Buffer.from(a.buffer, a.byteOffset, a.byteLength).toString("base64"));
  for (const handle of handles) core.free(handle);
  console.log(JSON.stringify({ result: result ?? null, arrays }));
}
