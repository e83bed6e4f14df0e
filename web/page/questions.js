/** A question as the page asks it: its texts, its mechanism, and what was entered so far.
 * @import * as T from "./types.d.ts" */

import { mechanism } from "./device.js";
import { parseNumber } from "./numbers.js";
import { language, number, say, textOf } from "./words.js";

/** P(first <= report <= last) of an index, from the law that is drawn. @type {T.Chance} */
export function chance({ law, report }, index, first, last) {
  let [sum, before] = [0, 0];
  [...law(53)[0], 2 ** 53].forEach((bound, outcome) => {
    const made = report(index, outcome);
    if (first <= made && made <= last) sum += Number(bound) - before;
    before = Number(bound);
  });
  return sum / 2 ** 53;
}

export class Question {
  /** A number as it was typed, or a category. It is in this tab's memory only. */
  typed = "";
  /** Whether the person would rather not answer. */
  skipped = false;

  /** @param {T.Fields} fields @param {string} own the survey's language @param {number} at */
  constructor(fields, own, at) {
    this.fields = fields;
    this.own = own;
    this.id = `q${at + 1}`;
    this.mechanism = mechanism(fields.mechanism);
    this.epsilon = fields.mechanism.epsilon;
    this.categories = fields.mechanism.categories;
    this.bounds = fields.mechanism.lattice;
    if (!this.bounds === !this.categories) throw new Error("A question must have numbers or words.");
    this.whole = this.bounds?.kind === "integer";
    // What stands for no answer: null is an answer of its own.
    this.missing = fields.missing;
    const declines = fields.mechanism.prefer_not_to_say;
    this.offer = declines ? "decline" : this.missing !== null && "skip";
    // If it could not be drawn, sending nothing would tell it.
    if (this.offer && (declines ? this.missing !== null : this.mechanism.index(this.missing) < 0))
      throw new Error("A missing answer must be one.");
  }

  /** @param {string} key */
  text(key) {
    return textOf(this.fields, key, this.own);
  }

  /** What is asked; a question without a text is asked by its name. */
  get asked() {
    const found = this.text("text");
    return found.text ? found : { text: this.fields.name, language: this.own };
  }

  /** An answer as people read it. @param {any} answer @returns {T.Text} */
  shown(answer) {
    const { text, language: its } = this.text(this.categories ? "labels" : "unit");
    if (this.categories) return { text: text?.[this.mechanism.index(answer)] ?? answer, language: its };
    const digits = number(answer);
    return text ? { text: `${digits}\u00a0${text}`, language: its } : { text: digits, language };
  }

  /** What a person chooses who would rather not answer. @returns {T.Text} */
  get skip() {
    const answer = this.missing !== null && this.shown(this.missing).text;
    return { text: say(this.offer || "skip", { answer }), language };
  }

  /** Where the scale is finer, if anywhere. */
  get zoom() {
    const [low, high] = (this.bounds?.zoom ?? []).map((end) => this.shown(end).text);
    return high && { low, high };
  }

  /** A bound; an open one stands for what is beyond it as well. @param {"low" | "high"} end */
  limit(end) {
    const { text } = this.shown(this.bounds[end]);
    return this.fields[`${end}_open`] ? say(`or_${end}`, { limit: text }) : text;
  }

  /** The answer that was entered, or a sentence that says what is wrong with it.
   * @returns {{ answer: number | string | null } | { wrong: string }} */
  read() {
    const { typed, categories, mechanism } = this;
    const wrong = (/** @type {string} */ key, values = {}) => ({ wrong: say(`wrong_${key}`, values) });
    if (this.skipped && this.offer) return { answer: this.missing };
    if (categories) return categories.includes(typed) ? { answer: typed } : wrong("choice");
    const example = number(this.whole ? this.bounds.high : 1234.5);
    const found = parseNumber(typed, language, navigator.language);
    if ("reason" in found) return wrong(found.reason, { example });
    const { value, both = [] } = found;
    if (mechanism.index(value) < 0) return wrong("whole", { example });
    if (!both.length || both.some((each) => mechanism.index(each) < 0)) return { answer: value };
    const [thousands, decimals] = both.map((each, at) =>
      number(each, { useGrouping: false, minimumFractionDigits: at && (100 * each % 1 ? 4 : 2) }));
    return wrong("twofold", { thousands, decimals });
  }

  /** Keep the number that was typed in another language, where 1.234 may be another number.
   * @param {string} before */
  translate(before) {
    const found = parseNumber(this.typed, before);
    if (this.categories || "reason" in found) return;
    this.typed = number(found.value, { useGrouping: false });
    const again = parseNumber(this.typed, language);
    if (!("value" in again && again.value === found.value)) this.typed = "";
  }

  forget() {
    this.typed = "";
    this.skipped = false;
  }

  /** How many reports in a hundred lie around an answer of a person who gives it, and of one with
   * quite another answer; and which part of the scale that is. Who declines says so as often. */
  get odds() {
    const { mechanism, categories, bounds } = this;
    const { p, reach = 0 } = mechanism.spec;
    const size = categories?.length ?? bounds.size;
    const [side, at] = p ? [Math.floor(size / 6), (size - 1) >> 1] : [reach, 0];
    // Laplace noise is symmetric; reports of a square wave begin with the index.
    const first = p ? at - side : at;
    const [same, other] = [at, size - 1].map((index) => chance(mechanism, index, first, first + 2 * side));
    const part = (2 * side + 1) / (size + 2 * reach);
    return [same, other, part].map((share) => Math.round(100 * share));
  }
}
