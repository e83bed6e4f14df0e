import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import * as device from "../device.js";
import { kit } from "./files.js";
import { faults } from "./kit.js";
import { isRefused, Tape } from "./tape.js";

const { exact, keeps, KINDS, MAX_SIZE, mechanism, privatize, Refused, system } = device;
const spec = (/** @type {string} */ name) =>
  structuredClone(kit.draws.find((line) => line.spec.mechanism === name).spec);
const wave = spec("square-wave");
const laplace = spec("laplace");
const response = spec("randomized-response");

test("the vectors", () => {
  assert.deepEqual([...faults(device, kit)], []);
  const draws = kit.draws.flatMap((line) => line.draws);
  assert.ok(draws.length > 5000);
  assert.ok(draws.filter(([, , , words]) => words > 1).length > 1000);
  assert.ok(draws.some(([, , , words]) => words > 4));
  const known = new Set(kit.draws.map((line) => line.spec.mechanism));
  assert.deepEqual(known, new Set(Object.keys(KINDS)));
});

test("the file is small and has no other source of randomness", () => {
  const text = readFileSync(new URL("../device.js", import.meta.url), "utf8");
  // Five kinds of answers, from zoomed lattices to pairs, that one person can read in an hour.
  assert.ok(Buffer.byteLength(text) <= 16_000, `${text.length} characters`);
  assert.ok(!/Math\.random|^import |import\(|parseFloat|Date/m.test(text));
});

test("answers that are none never meet noise, and are not quoted", () => {
  const silent = { bytes: () => assert.fail("bytes were read for no answer") };
  const words = mechanism(response);
  const number = mechanism(wave);
  for (const [made, answer] of /** @type {[device.Mechanism, any][]} */ ([
    ...["secret", "", " no", "NO", 0, null, undefined, NaN].map((each) => [words, each]),
    ...[NaN, Infinity, "54321", null, undefined, true, [5], 5n, {}].map((each) => [number, each]),
  ])) {
    assert.throws(
      () => privatize(made, answer, silent),
      (error) => error instanceof Refused && !/secret|54321/.test(error.message),
    );
  }
  for (const index of [-1, number.inputs, 0.5, NaN, "0", null, undefined]) {
    assert.ok(isRefused(() => number.draw(/** @type {any} */ (index), silent)));
  }
});

test("answers become reports", () => {
  const zero = () => new Tape(new Uint8Array(4));
  assert.equal(privatize(mechanism(response), response.categories[1], zero()), 1);
  assert.equal(privatize(mechanism(wave), 150_000, zero()), 512);
  assert.equal(privatize(mechanism(laplace), 1, zero()), 0);
  const report = privatize(mechanism(wave), 150_000);
  assert.ok(Number.isInteger(report) && report >= 0 && report < 1548);
});

test("people may prefer not to say", () => {
  const zero = () => new Tape(new Uint8Array(4));
  const last = () => new Tape(Uint8Array.of(0xf0, 0xff, 0xff, 0xff));
  for (const [spec, answer] of /** @type {[any, any][]} */ ([[wave, 150_000], [response, response.categories[1]]])) {
    assert.ok(isRefused(() => privatize(mechanism(spec), null, zero())));
    const offered = mechanism({ ...spec, prefer_not_to_say: true });
    const symbol = offered.outputs - 1;
    assert.equal(offered.outputs, mechanism(spec).outputs + 1);
    assert.equal(offered.inputs, mechanism(spec).inputs + 1);
    assert.equal(privatize(offered, null, zero()), symbol);
    assert.notEqual(privatize(offered, null, last()), symbol);
    assert.notEqual(privatize(offered, answer, zero()), symbol);
    for (const none of [undefined, NaN, "", "null", false]) {
      assert.ok(isRefused(() => privatize(offered, none, zero())));
    }
  }
  assert.ok(isRefused(() => mechanism({ ...laplace, prefer_not_to_say: true })));
});

test("a pair of questions", () => {
  const zero = () => new Tape(new Uint8Array(4));
  const pair = kit.draws.find((line) => line.spec.mechanism === "pair-response").spec;
  const made = mechanism(pair);
  assert.deepEqual([made.inputs, made.outputs], [64 * 61, 2]);
  const reports = [[0, 0], [0, 5], [1, 4], [1, 60]].map(([pay, days]) => privatize(made, { pay, days }, zero()));
  assert.deepEqual(reports, [0, 1, 1, 0]);
  assert.ok(isRefused(() => privatize(made, { pay: 1, days: null }, zero())));
  const [first, second] = pair.parts;
  const offered = mechanism({ ...pair, parts: [first, { ...second, prefer_not_to_say: true }] });
  assert.deepEqual([offered.inputs, offered.outputs], [64 * 62, 3]);
  assert.equal(privatize(offered, { pay: 1, days: null }, zero()), 2);
  assert.ok(isRefused(() => privatize(offered, { pay: null, days: 1 }, zero())));
  for (const none of [{ pay: 1 }, { pay: 1, days: 1.5 }, [1, 2], "12", 3, null, undefined])
    assert.equal(offered.index(none), -1);
  const table = mechanism({ ...pair, parts: [{ ...first, cuts: [10, 20] }, second] });
  assert.equal(privatize(table, { pay: 1, days: 60 }, zero()), 5);
  assert.ok(isRefused(() => mechanism({ ...pair, epsilon: 0.999 })));
});

test("whole numbers", () => {
  const cells = { low: 1, high: 10, size: 4, scale: "linear", kind: "integer" };
  const made = mechanism({ ...wave, lattice: cells, reach: 1 });
  const found = [-5, 1, 2, 3, 4, 9, 10, 11, 1e300].map((each) => made.index(each));
  assert.deepEqual(found, [0, 0, 0, 0, 1, 2, 3, 3, 3]);
  for (const none of [1.5, 9.999999999, NaN, Infinity, "3", null]) assert.equal(made.index(none), -1);
  for (const wrong of [{ size: 6 }, { low: 0.5 }, { scale: "log" }, { kind: "whole" }, { kind: null }, { high: 2 ** 53 }]) {
    assert.ok(isRefused(() => mechanism({ ...wave, lattice: { ...cells, ...wrong }, reach: 1 })), JSON.stringify(wrong));
  }
});

test("points", () => {
  const cells = { low: 0, high: 2000, size: 41, scale: "linear", kind: "points" };
  const made = mechanism({ ...wave, lattice: cells, reach: 1 });
  const found = [-5, 0, 24.9, 25, 50, 74, 75, 1974.9, 1975, 2000, 1e300].map((each) => made.index(each));
  assert.deepEqual(found, [0, 0, 0, 1, 1, 1, 2, 39, 40, 40, 40]);
  for (const none of [NaN, Infinity, "3", null]) assert.equal(made.index(none), -1);
  assert.ok(isRefused(() => mechanism({ ...wave, lattice: { ...cells, low: 1, scale: "log" }, reach: 1 })));
});

test("a zoomed lattice", () => {
  const cells = { low: 0, high: 100, size: 20, scale: "zoom", zoom: [30, 40] };
  const made = mechanism({ ...wave, lattice: cells, reach: 1 });
  const found = [-5, 0, 29.99, 30, 30.5, 30.6, 39.9, 40, 99, 100, 1e300].map((each) => made.index(each));
  assert.deepEqual(found, [0, 0, 0, 1, 1, 2, 18, 19, 19, 19, 19]);
  // At an end of the bounds there is nothing on that side.
  const low = mechanism({ ...wave, lattice: { ...cells, zoom: [0, 10] }, reach: 1 });
  assert.deepEqual([0, 9.99, 10, 100].map((each) => low.index(each)), [0, 17, 18, 19]);
  const high = mechanism({ ...wave, lattice: { ...cells, zoom: [90, 100] }, reach: 1 });
  assert.deepEqual([0, 89.9, 90, 100].map((each) => high.index(each)), [0, 1, 2, 19]);
  for (const none of [NaN, Infinity, "3", null]) assert.equal(made.index(none), -1);
});

test("the system's bytes", () => {
  assert.equal(system.bytes(4).length, 4);
  const many = system.bytes(65_536);
  assert.ok(new Set(many).size === 256);
});

test("stronger noise than declared is drawn as it is stated", () => {
  const weights = ["3", "2"];
  const near = (/** @type {any} */ spec) => mechanism(spec).law(32)[0][524];
  assert.ok(near({ ...wave, weights }) < near(wave));
  assert.ok(mechanism({ ...wave, reach: 0 }).outputs === 1024);
  assert.ok(mechanism({ ...laplace, epsilon: 2 }).inputs === 256);
});

test("the largest lattice", () => {
  const largest = { ...wave, lattice: { ...wave.lattice, size: MAX_SIZE }, reach: 1 };
  assert.equal(mechanism(largest, { bits: 8 }).inputs, MAX_SIZE);
});

test("epsilon is the float or its decimals, the smaller", () => {
  assert.deepEqual(exact(0.1), [1n, 10n]);
  assert.deepEqual(exact(0.3), [5404319552844595n, 1n << 54n]);
  assert.deepEqual(exact(1), [1n, 1n]);
  assert.deepEqual(exact(1e-7), [944473296573929n, 1n << 73n]);
  assert.deepEqual(exact(2.5e-9), [25n, 10n ** 10n]);
  for (const wrong of [0, -1, 100.5, NaN, Infinity, "1", null, true, 1n]) {
    assert.ok(isRefused(() => exact(/** @type {any} */ (wrong))), String(wrong));
  }
});

test("comparison with powers of e", () => {
  // e to 60 digits, from its continued fraction 2; 1, 2, 1, 1, 4, 1, 1, 6, 1, ...
  let [a, b, c, d] = [2n, 1n, 1n, 0n];
  for (let k = 1n; b < 10n ** 60n; k++) {
    const term = k % 3n === 2n ? (2n * (k + 1n)) / 3n : 1n;
    [a, c] = [a * term + c, a];
    [b, d] = [b * term + d, b];
    // Convergents lie below and above in turn.
    assert.equal(keeps([a, b], [1n, 1n]), k % 2n === 0n);
  }
  assert.ok(keeps([1n, 1n], [1n, 10n ** 300n]));
  assert.ok(!keeps([10n ** 64n + 1n, 10n ** 64n], [1n, 10n ** 300n]));
  assert.ok(keeps([26881171418161354484126255515800135873611118n, 1n], [100n, 1n]));
  assert.ok(!keeps([26881171418161354484126255515800135873611119n, 1n], [100n, 1n]));
});

test("another kind is one function", () => {
  KINDS.toy = () => ({
    ...mechanism(response),
    inputs: 1,
    report: () => 7,
    index: () => 0,
  });
  assert.equal(privatize(mechanism({ mechanism: "toy" }), "anything"), 7);
  delete KINDS.toy;
  assert.ok(isRefused(() => mechanism({ mechanism: "toy" })));
});

test("words have 8, 16 or 32 bits", () => {
  for (const bits of [0, 1, 12, 64, /** @type {any} */ ("32")]) {
    assert.ok(isRefused(() => mechanism(wave, { bits })));
  }
});
