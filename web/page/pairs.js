/** Two questions of which one report is sent: what it says about both answers.
 * @import * as T from "./types.d.ts" */

import { mechanism } from "./device.js";
import { chance } from "./questions.js";
import { say } from "./words.js";

/** The least value of the class that a cut begins. @type {T.Edge} */
function edge({ low, high, size, scale, kind }, cut) {
  if (kind === "integer") return low + cut * Math.ceil((high - low + 1) / size);
  // Points are cut halfway between two.
  const part = kind === "points" ? (cut - 0.5) / (size - 1) : cut / size;
  const found = scale === "log" ? low * (high / low) ** part : low + part * (high - low);
  return Number(found.toPrecision(6));
}

/** What a pair has of its questions. */
const SAME = "lattice low high size scale kind zoom categories prefer_not_to_say".split(" ");

export class Pair {
  /** @param {T.Both} fields @param {T.Questions} questions those of the pair, in its order */
  constructor({ name, mechanism: spec }, questions) {
    this.name = name;
    this.mechanism = mechanism(spec);
    // If some answers could not be drawn, sending nothing would tell them.
    const own = questions.map(({ fields }) => fields.mechanism);
    if (JSON.stringify(own, SAME) !== JSON.stringify(spec.parts, SAME))
      throw new Error("A pair must take what its questions take.");
    this.epsilon = spec.epsilon;
    this.questions = questions;
    this.parts = spec.parts;
    this.bit = this.parts.every(({ cuts }) => cuts.length === 1);
    this.declines = this.parts.some((part) => part.prefer_not_to_say);
  }

  /** The classes that the answers to a question fall into; of a bit the upper one alone.
   * @param {number} at */
  classes(at) {
    const [question, { lattice, categories, cuts }] = [this.questions[at], this.parts[at]];
    const shown = (/** @type {any} */ answer) => question.shown(answer).text;
    const ends = [0, ...cuts, undefined];
    const found = ends.slice(0, -1).map((start, k) => {
      const end = ends[k + 1];
      if (categories) return categories.slice(start, end).map(shown).join(" / ");
      const [low, high] = [start, end].map((cut) => cut && shown(edge(lattice, cut)));
      return say(low ? (high ? "between" : "or_high") : "below", { low, high, limit: low || high });
    });
    return (this.bit ? found.slice(1) : found).join("; ");
  }

  /** How many reports in a hundred say what holds, and what holds for others alone. */
  get odds() {
    const [same, other] = [0, 1].map((report) => chance(this.mechanism, 0, report, report));
    return [same, other].map((share) => Math.round(100 * share));
  }
}
