// Asks Perfetto's own trace processor, the WebAssembly of ui.perfetto.dev, about a trace.
//
//     node trace_processor.mjs FOLDER TRACE QUERY...
//
// FOLDER has engine_bundle.js and trace_processor.wasm. Prints a line of JSON for each query: an array of rows, which
// are objects. The messages are those of protos/perfetto/trace_processor/trace_processor.proto.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import vm from "node:vm";

const [folder, trace, ...queries] = process.argv.slice(2);
const APPEND = 1, FINALIZE = 2, QUERY = 3;

/** A number as Protocol Buffers write it. */
function varint(value) {
    const bytes = [];
    for (; value >= 0x80; value = Math.floor(value / 0x80)) bytes.push((value % 0x80) + 0x80);
    return Buffer.from([...bytes, value]);
}

const number = (field, value) => Buffer.concat([varint(field * 8), varint(value)]);
const bytes = (field, value) => Buffer.concat([varint(field * 8 + 2), varint(value.length), value]);

/** The fields of a message: [number, value], where the value is a BigInt or bytes. */
function* fields(message) {
    let at = 0;
    const next = () => {
        let value = 0n;
        for (let shift = 0n; ; shift += 7n) {
            const byte = message[at++];
            value |= BigInt(byte & 0x7f) << shift;
            if (byte < 0x80) return value;
        }
    };
    while (at < message.length) {
        const tag = Number(next());
        switch (tag % 8) {
            case 0: yield [tag >> 3, next()]; break;
            case 1: yield [tag >> 3, message.subarray(at, (at += 8))]; break;
            case 2: { const size = Number(next()); yield [tag >> 3, message.subarray(at, (at += size))]; break; }
            default: throw new Error(`wire type ${tag % 8}`);
        }
    }
}

/** The numbers of a packed field. */
function packed(message) {
    const numbers = [];
    let value = 0n, shift = 0n;
    for (const byte of message) {
        value |= BigInt(byte & 0x7f) << shift;
        shift += 7n;
        if (byte < 0x80) { numbers.push(BigInt.asIntN(64, value)); value = 0n; shift = 0n; }
    }
    return numbers;
}

/** Adds the rows of a `QueryResult`. */
function add(result, answer) {
    for (const [field, value] of fields(result)) {
        if (field === 1) answer.columns.push(Buffer.from(value).toString());
        if (field === 2) throw new Error(Buffer.from(value).toString());
        if (field !== 3) continue;
        const batch = { cells: [], numbers: [], floats: [], texts: [] };
        for (const [part, content] of fields(value)) {
            if (part === 1) batch.cells = packed(content);
            if (part === 2) batch.numbers = packed(content);
            if (part === 3) for (let at = 0; at < content.length; at += 8) batch.floats.push(Buffer.from(content).readDoubleLE(at));
            if (part === 5) batch.texts = Buffer.from(content).toString().split("\0");
        }
        for (const cell of batch.cells) {
            const small = (big) => (Number.isSafeInteger(Number(big)) ? Number(big) : String(big));
            const take = { 2: () => small(batch.numbers.shift()), 3: () => batch.floats.shift(), 4: () => batch.texts.shift() };
            answer.cells.push(take[Number(cell)]?.() ?? null);
        }
    }
}

// The engine is a worker of a browser, and refuses Node.js unless it is the renderer of a window.
process.type = "renderer";
globalThis.self = globalThis;
globalThis.WorkerGlobalScope = function () {};
globalThis.location = { href: "http://localhost/engine_bundle.js" };
// It reads its files by the interface of browsers, of which it needs no more than this.
globalThis.XMLHttpRequest = class {
    open(_, name) { this.name = name; }
    send() {
        const file = readFileSync(join(folder, this.name.split("/").pop()));
        this.status = 200;
        this.response = file.buffer.slice(file.byteOffset, file.byteOffset + file.length);
        if (this.onload) setTimeout(this.onload);
    }
};
vm.runInThisContext(readFileSync(join(folder, "engine_bundle.js"), "utf8"), { filename: "engine_bundle.js" });

let sequence = 0, onReply = () => {};
const port = { postMessage: (message) => onReply(message) };
self.onmessage({ data: port });
await new Promise((done) => setTimeout(done, 1500));

const ask = (kind, content = []) => {
    const request = Buffer.concat([number(1, sequence++), number(2, kind), ...content]);
    port.onmessage({ data: new Uint8Array(bytes(1, request)) });
};
/** The responses of a message of the stream. */
function* responses(message) {
    for (const [field, response] of fields(message)) if (field === 1) yield response;
}
const whole = readFileSync(trace);
for (let at = 0; at < whole.length; at += 1 << 20) ask(APPEND, [bytes(101, whole.subarray(at, at + (1 << 20)))]);
ask(FINALIZE);
for (const query of queries) {
    const answer = { columns: [], cells: [] };
    onReply = (message) => {
        for (const response of responses(message)) for (const [field, value] of fields(response)) {
            if (field === 5) throw new Error(Buffer.from(value).toString());
            if (field === 203) add(value, answer);
        }
    };
    ask(QUERY, [bytes(103, bytes(1, Buffer.from(query)))]);
    const width = answer.columns.length, rows = [];
    for (let at = 0; at < answer.cells.length; at += width) {
        rows.push(Object.fromEntries(answer.columns.map((column, index) => [column, answer.cells[at + index]])));
    }
    console.log(JSON.stringify(rows));
}
process.exit(0);
