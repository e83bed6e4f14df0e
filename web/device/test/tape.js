// @ts-check
import { Refused } from "../device.js";

/** Bytes that are read from the first to the last, and not beyond. */
export class Tape {
  /** @param {Uint8Array} tape */
  constructor(tape) {
    this.tape = tape;
    this.read = 0;
  }

  /** @param {number} n */
  bytes(n) {
    this.read += n;
    if (this.read > this.tape.length) throw new RangeError("the tape is too short for this draw");
    return this.tape.subarray(this.read - n, this.read);
  }
}

/** The bytes of a hexadecimal text. @type {(text: string) => Uint8Array} */
export const unhex = (text) =>
  Uint8Array.from(text.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));

/** Whether something is refused with a sentence. @type {(attempt: () => unknown) => boolean} */
export function isRefused(attempt) {
  try {
    attempt();
    return false;
  } catch (error) {
    return error instanceof Error && error.constructor.name === Refused.name;
  }
}
