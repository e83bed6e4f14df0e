// @ts-check
/**
 * Checks a device against the vectors in conformance/: draws, cells and refusals.
 *
 * @typedef {typeof import("../device.js")} Device
 * @typedef {{ draws: any[], indices: any[], refused: any[] }} Kit the lines of each file
 */

import { isRefused, Tape, unhex } from "./tape.js";

/** @type {(text: string) => any[]} */
export const lines = (text) =>
  text
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));

/**
 * What is wrong, one sentence each: nothing if the device is right.
 * @param {Device} device
 * @param {Kit} kit
 * @returns {Generator<string>}
 */
export function* faults(device, kit) {
  for (const { why, spec } of kit.refused) {
    if (!isRefused(() => device.mechanism(spec))) yield `not refused: ${why}`;
  }
  for (const { lattice, spec = numeric(lattice), values, indices, refused = [] } of kit.indices) {
    const mechanism = device.mechanism(spec);
    const told = (/** @type {any} */ value) => `${JSON.stringify(lattice ?? spec)}: ${JSON.stringify(value)}`;
    for (const [at, value] of values.entries()) {
      const found = mechanism.index(value);
      if (found !== indices[at]) yield `${told(value)} has the index ${found}, not ${indices[at]}`;
    }
    for (const value of refused) {
      if (mechanism.index(value) !== -1) yield `${told(value)} is taken`;
    }
  }
  for (const { why, bits, spec, draws } of kit.draws) {
    const where = `${spec.mechanism}, epsilon ${spec.epsilon}, ${why}`;
    try {
      const mechanism = device.mechanism(spec, { bits });
      for (const [hex, index, report, words] of draws) {
        const tape = new Tape(unhex(hex));
        const found = mechanism.draw(index, tape);
        const read = (tape.read * 8) / bits;
        if (found !== report || read !== words) {
          const right = `${report} after ${words} words`;
          yield `${where}: ${hex} at ${index} gave ${found} after ${read} words, not ${right}`;
        }
      }
    } catch (error) {
      yield `${where}: ${error}`;
    }
  }
}

/** Some mechanism on a lattice, for its cells. @type {(lattice: any) => any} */
const numeric = (lattice) => ({
  mechanism: "square-wave",
  lattice,
  epsilon: 1,
  reach: 0,
  weights: ["2", "1"],
});
