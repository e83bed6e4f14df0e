// @ts-check
/**
 * Runs a device where there is no file system: a browser, or any other engine.
 */

import { mechanism, system } from "../device.js";
import { Tape } from "./tape.js";

/**
 * Draws from the tapes that conformance/fresh.py packed, and counts what differs from its reports.
 * @param {ArrayBuffer} buffer
 */
export function runTapes(buffer) {
  const view = new DataView(buffer);
  const result = { n: 0, refined: 0, unequal: 0, first: "" };
  for (let at = 0; at < buffer.byteLength; ) {
    const length = view.getUint32(at, true);
    const header = new TextDecoder().decode(new Uint8Array(buffer, at + 4, length));
    const { spec, bits, n, stride } = JSON.parse(header);
    const numbers = at + 4 + length;
    const tapes = new Uint8Array(buffer, numbers + 12 * n, n * stride);
    const made = mechanism(spec, { bits });
    for (let k = 0; k < n; k++) {
      const [index, report, words] = [0, 1, 2].map((row) =>
        view.getInt32(numbers + 4 * (row * n + k), true),
      );
      const tape = new Tape(tapes.subarray(k * stride, (k + 1) * stride));
      const found = made.draw(index, tape);
      const read = (tape.read * 8) / bits;
      result.n++;
      result.refined += Number(read > 1);
      if (found !== report || read !== words) {
        result.unequal++;
        result.first ||= `${header}: draw ${k} gave ${found} after ${read} words`;
      }
    }
    at = numbers + 12 * n + n * stride;
  }
  return result;
}

/**
 * Chi-square statistic of n real draws for an index, or that in the middle, over the outcomes of its law,
 * neighbors being put together until each group expects 20 draws; and microseconds a draw.
 * @type {(spec: any, n: number, index?: number) => { statistic: number, freedom: number, microseconds: number }}
 */
export function chiSquare(spec, n, index = mechanism(spec).inputs >> 1) {
  const made = mechanism(spec);
  const counts = new Float64Array(made.outputs);
  const start = performance.now();
  for (let k = 0; k < n; k++) counts[made.draw(index, system)]++;
  const microseconds = ((performance.now() - start) * 1000) / n;

  const bits = 120;
  const expected = new Float64Array(made.outputs);
  let before = 0n;
  [...made.law(bits)[0], 1n << BigInt(bits)].forEach((sum, outcome) => {
    const mass = Number((sum - before) >> BigInt(bits - 100)) / 2 ** 100;
    expected[made.report(index, outcome)] += n * mass;
    before = sum;
  });

  let [statistic, groups, seen, due] = [0, 0, 0, 0];
  let left = n;
  for (let report = 0; report < made.outputs; report++) {
    seen += counts[report];
    due += expected[report];
    left -= expected[report];
    if ((due >= 20 && left >= 20) || report === made.outputs - 1) {
      statistic += (seen - due) ** 2 / due;
      groups++;
      [seen, due] = [0, 0];
    }
  }
  return { statistic, freedom: groups - 1, microseconds };
}
