// What a run of QuickJS computes: quickjs INPUT RESULTS.
import * as std from "qjs:std";
const results = std.open(scriptArgs[scriptArgs.length - 1], "w");
const say = (...values) => results.puts(values.map(String).join(" ") + "\n");

class Shape {
    #area = 0;
    static made = 0;
    constructor(w, h) { this.w = w; this.h = h; this.#area = w * h; Shape.made++; }
    get area() { return this.#area; }
    set area(a) { this.#area = a; }
    scaled(by = 2, ...rest) { return new this.constructor(this.w * by, this.h * by + rest.length); }
    *[Symbol.iterator]() { yield this.w; yield this.h; }
}
class Square extends Shape {
    constructor(w) { super(w, w); }
    get area() { return super.area + 1; }
    toString() { return `square ${this.w}`; }
}
const shapes = [];
for (let i = 0; i < 200; i++) shapes.push(i % 3 ? new Shape(i, i + 1) : new Square(i));
shapes.sort((a, b) => b.area - a.area || a.w - b.w);
say(shapes.map(s => s.area).join(), [...shapes[3]], Shape.made, shapes[0].scaled(3, 1, 2).area, `${new Square(4)}`);

function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
say(fib(17));
const primes = [];
outer: for (let i = 2; primes.length < 400; i++) {
    for (const p of primes) { if (p * p > i) break; if (i % p === 0) continue outer; }
    primes.push(i);
}
say(primes.slice(-5), primes.reduce((a, b) => a + b, 0), primes.includes(97), primes.indexOf(53));

const text = "The quick brown fox, born 1987-06-05 and 2001-12-31, jumps over 13 lazy dogs; naïve café №5.";
say(text.replace(/(\d{4})-(\d\d)-(\d\d)/g, "$3.$2.$1"), text.match(/\b\w+o\w*\b/gi), text.split(/[\s,;]+/).length);
say([...text.matchAll(/(?<word>[a-z]+)(?=,|\.)/gu)].map(m => m.groups.word), /^(?:a+)+b$/.test("aaaaaaab"), /(?<!x)y{2,3}?/.exec("xyyayyy").index);
say(text.toUpperCase().normalize("NFD").length, text.padEnd(99, "ab").slice(-7), text.at(-2), encodeURIComponent(text).length, escape("ü"), "a-b_c".split(/[-_]/));

const data = { list: [1, 2.5, -3e-7, 1e21, null, true, "q\"\u2028\n"], nested: { deep: { deeper: [[], {}, [[1]]] } }, u: undefined };
const json = JSON.stringify(data, null, 1);
say(json.length, JSON.stringify(JSON.parse(json)) === JSON.stringify(data), JSON.stringify(JSON.parse(json, (k, v) => typeof v === "number" ? v + 1 : v)));

const map = new Map(), set = new Set(), weak = new WeakMap();
for (let i = 0; i < 1500; i++) { map.set(i % 2 ? i : "k" + i, i * i); set.add(i % 37); weak.set({ i }, i); }
for (let i = 0; i < 60; i++) map.delete("k" + i);
say(map.size, set.size, [...map.keys()].slice(0, 6), map.get(77), Object.groupBy ? Object.keys(Object.groupBy(primes, p => p % 4)) : "");

const bytes = new Uint8Array(64).map((_, i) => i * 37);
const view = new DataView(bytes.buffer);
view.setFloat64(8, Math.PI); view.setInt16(2, -12345, true); view.setBigUint64(16, 0xfedcba9876543210n);
say(bytes.slice(0, 24).join(), new Float32Array([1.1, 2.2]).map(x => x * 2), view.getUint32(18), bytes.toSorted().indexOf(111), new Int16Array(bytes.buffer, 4, 3));

let big = 1n;
for (let i = 1n; i <= 30n; i++) big *= i;
say(big, big % 1000007n, big >> 45n, -big / 12345678901n, BigInt.asIntN(64, big), (2n ** 100n).toString(36));
say(0.1 + 0.2, 1 / 3, (1234.5678).toFixed(2), (255).toString(16), (0.000001234).toExponential(3), parseFloat("3.25e2x"), parseInt("0x1f"), Math.hypot(3, 4), Math.fround(5.5), Math.clz32(77), (-7) % 3, -7 >>> 28, 5 & 3 | 8 ^ 2, 2 ** 31 | 0, Number.MAX_SAFE_INTEGER + 2);

function* walk(tree, depth = 0) { yield [depth, tree.v]; for (const c of tree.c ?? []) yield* walk(c, depth + 1); }
const tree = n => ({ v: n, c: n > 1 ? [tree(n >> 1), tree(n - 2)] : [] });
say([...walk(tree(14))].map(([d, v]) => d * v).join());

const log = [];
const proxy = new Proxy({}, { get: (t, k) => (log.push("get " + String(k)), t[k] ?? 7), set: (t, k, v) => (log.push("set"), t[k] = v, true), has: () => true });
proxy.a = 1; proxy.b; "z" in proxy; with_(proxy);
function with_({ a, b = 9, ...others }) { say(a, b, Object.keys(others), log.length, Reflect.ownKeys({ a, [Symbol.iterator]: 1 }).length); }
for (const bad of [() => null.x, () => undefinedName, () => { throw new RangeError("r"); }, () => JSON.parse("{bad"), () => new Array(-1), () => (1, eval)("1 +"), () => decodeURI("%")])
    try { bad(); } catch (e) { say(e.name, e.message, e instanceof Error); } finally { log.push("f"); }
say(log.length, eval("let q = 3; q * 2"), new Function("a", "b", "return a ?? b")(null, 4), [3, 1, 2].toString(), typeof Symbol(), void 0);
var o = { get x() { return 5; }, ["c" + 1]: 2, __proto__: { inherited: 1 } };
for (const k in o) log.push(k);
switch (log.length % 5) { case 0: say("zero"); break; case 1: case 2: say("few"); default: say("fell"); }
let i = 0; do { i += 3; if (i & 1) continue; log.push(i); } while (i < 30);
say(log.slice(-8), Object.entries(o), structured(o?.missing?.deep), [1, [2, [3, [4]]]].flat(Infinity), Array.from({ length: 5 }, (_, n) => n ** 2), [5, 1, 10].sort(), [..."añ😀"].length, "😀".codePointAt(0));
function structured(x) { return x === undefined ? "none" : x; }
const day = new Date(Date.UTC(2024, 1, 29, 12, 30, 15, 250));
say(day.toISOString(), day.getTime(), new Date("2020-03-01T00:00:00Z").getUTCDay(), Date.UTC(1969, 11, 31));
async function later(n) { await null; if (n > 3) throw new Error("late " + n); return n; }
(async () => {
    const settled = await Promise.allSettled([1, 2, 5].map(later));
    say(settled.map(s => s.value ?? s.reason.message));
    for await (const x of (async function* () { yield 1; yield await later(2); })()) say("async", x);
    say(await Promise.race([later(3), new Promise(() => {})]));
    results.close();
})();
