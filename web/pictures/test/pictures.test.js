// Tests of what pictures compute before they draw: digits, ticks and curves.
import assert from "node:assert/strict";
import { test } from "node:test";

import { percent, ticks, whole, within } from "../digits.js";
import { heights, outline } from "../pictures.js";

test("numbers have two digits of their spread", () => {
  assert.equal(within(8262)(48_217.4), "48,200");
  assert.equal(within(9999)(48_217.4), "48,200");
  assert.equal(within(10_000)(48_217.4), "48,000");
  assert.equal(within(0.034)(0.4567), "0.457");
  assert.equal(within(1)(7), "7.0");
  assert.equal(within(12)(-0.4), "0");
  assert.equal(within(100)(-1234), "-1,230");
  assert.equal(percent(0.12345), "12.3%");
  assert.equal(whole(1204), "1,204");
});

test("ends of intervals are rounded outwards, but for what lies on a step", () => {
  assert.equal(within(982)(5224.4, Math.ceil), "5,230");
  assert.equal(within(982)(3242.8, Math.floor), "3,240");
  assert.equal(within(982)(3240.000000001, Math.ceil), "3,240");
  assert.equal(within(0.5)(-0.317, Math.floor), "-0.32");
  assert.equal(percent(0.21012, Math.ceil), "21.1%");
  assert.equal(percent(0.3, Math.ceil), "30.0%");
  assert.equal(percent(0, Math.floor), "0.0%");
  assert.equal(whole(3.2, Math.ceil), "4");
});

test("ticks are round, inside the axis and not too many", () => {
  assert.deepEqual(ticks(0, 200_000, 6, "linear").places, [0, 50_000, 100_000, 150_000, 200_000]);
  assert.deepEqual(ticks(0, 60, 6, "linear").places, [0, 10, 20, 30, 40, 50, 60]);
  assert.deepEqual(ticks(-1, 1, 4, "linear").places, [-1, -0.5, 0, 0.5, 1]);
  assert.equal(ticks(-1, 1, 4, "linear").format(-0.5), "-0.5");
  assert.equal(ticks(0, 200_000, 6, "linear").format(150_000), "150,000");
  assert.deepEqual(ticks(1, 1000, 9, "log").places, [1, 3, 10, 30, 100, 300, 1000]);
  assert.deepEqual(ticks(1, 1e6, 4, "log").places, [1, 100, 10_000, 1_000_000]);
  for (let most = 2; most < 12; most++) {
    for (const [low, high] of [[0, 1], [3, 17], [-250, 990], [1e-4, 3e-4]]) {
      const { places } = ticks(low, high, most, "linear");
      assert.ok(places.length <= most + 1 && places.length > 0, `${low} ${high} ${most}`);
      assert.ok(places.every((at) => at >= low - 1e-9 && at <= high + 1e-9));
    }
  }
});

/** @type {(edges: number[], masses: number[], scale?: string) => number[]} */
const curve = (edges, masses, scale = "linear") =>
  heights({ name: "", look: "", edges, masses }, { low: edges[0], high: edges[edges.length - 1], scale, unit: "" });

test("a curve has the area of its cells and stays between them", () => {
  const edges = Array.from({ length: 21 }, (_, at) => 10 * at);
  const masses = edges.slice(1).map((_, at) => Math.exp(-((at - 7) ** 2) / 8));
  const total = masses.reduce((sum, mass) => sum + mass, 0);
  const found = curve(edges, masses.map((mass) => mass / total));
  const area = found.reduce((sum, height) => sum + height, 0) / found.length;
  assert.ok(Math.abs(area - 1) < 0.01, String(area));
  const top = Math.max(...masses) / total * 20;
  assert.ok(Math.max(...found) <= top * (1 + 1e-9) && Math.max(...found) > 0.99 * top);
  assert.ok(Math.min(...found) >= 0);
});

test("a flat density is flat, on both scales", () => {
  assert.ok(curve([0, 1, 2, 4], [0.25, 0.25, 0.5]).every((height) => Math.abs(height - 1) < 1e-9));
  const edges = [1, 10, 100, 1000];
  assert.ok(curve(edges, [1 / 3, 1 / 3, 1 / 3], "log").every((height) => Math.abs(height - 1) < 1e-9));
});

test("an empty stretch stays empty", () => {
  const found = curve([0, 1, 2, 3, 4, 5, 6, 7, 8], [0.5, 0, 0, 0, 0, 0, 0, 0.5]);
  const middle = found.slice(60, 180);
  assert.ok(middle.every((height) => height === 0), String(Math.max(...middle)));
});

test("whole numbers have their places at whole numbers", () => {
  assert.deepEqual(ticks(-0.5, 20.5, 5, "whole").places, [0, 5, 10, 15, 20]);
  assert.deepEqual(ticks(-0.5, 1.5, 9, "whole").places, [0, 1]);
  assert.deepEqual(ticks(-0.5, 10.5, 5, "whole").places, [0, 5, 10]);
  for (let most = 2; most < 12; most++) {
    const { places } = ticks(-3.5, 41.5, most, "whole");
    assert.ok(places.every(Number.isInteger) && places.length > 1, `${most}: ${places}`);
  }
});

test("bars are as high as their cells are dense", () => {
  const series = { name: "", look: "", edges: [-0.5, 0.5, 2.5, 3.5], masses: [0.2, 0.4, 0.4] };
  const { places, heights: found } = outline(series, { low: -0.5, high: 3.5, scale: "whole", unit: "" });
  assert.deepEqual(places, [0, 0.25, 0.25, 0.75, 0.75, 1]);
  found.forEach((height, at) => assert.ok(Math.abs(height - [0.8, 0.8, 0.8, 0.8, 1.6, 1.6][at]) < 1e-12));
});
