/** A question as the page asks it: its texts, its mechanism, and what was entered so far.
 * @import { Fields } from "./types.d.ts" */

import { mechanism } from "./device.js";
import { parseNumber } from "./numbers.js";
import { language, number, textOf } from "./words.js";

export class Question {
  /** A number as it was typed, or a category. It is in this tab's memory only. */
  typed = "";
  /** Whether the person would rather not answer. */
  skipped = false;

  /** @param {Fields} fields @param {string} own the survey's language @param {number} at */
  constructor(fields, own, at) {
    this.fields = fields;
    this.own = own;
    this.id = `q${at + 1}`;
    this.mechanism = mechanism(fields.mechanism);
    this.epsilon = fields.mechanism.epsilon;
    this.categories = fields.mechanism.categories;
    this.bounds = fields.mechanism.lattice;
    this.missing = fields.missing;
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

  /** What stands for a category. @param {string} category */
  label(category) {
    const { text, language } = this.text("labels");
    return { text: text?.[this.mechanism.index(category)] ?? category, language };
  }

  /** An answer as people read it. @param {number | string} answer @returns {string} */
  shown(answer) {
    if (typeof answer === "string") return this.label(answer).text;
    const { text: unit } = this.text("unit");
    return unit ? `${number(answer)}\u00a0${unit}` : number(answer);
  }

  /** Numbers beyond the bounds count as the bounds. @param {number | string} answer */
  counted(answer) {
    if (typeof answer === "string") return answer;
    return Math.min(Math.max(answer, this.bounds.low), this.bounds.high);
  }

  /** The answer that was entered, or the key of a sentence that says what is wrong with it.
   * @returns {{ answer: number | string } | { wrong: string }} */
  read() {
    const { typed, categories } = this;
    if (this.skipped && this.missing !== null) return { answer: this.missing };
    if (categories) return categories.includes(typed) ? { answer: typed } : { wrong: "wrong_choice" };
    const found = parseNumber(typed, language);
    return "value" in found ? { answer: found.value } : { wrong: `wrong_${found.reason}` };
  }

  /** Keep the number that was typed in another language, where 1.234 may be another number.
   * @param {string} before */
  translate(before) {
    const found = parseNumber(this.typed, before);
    if (this.categories || !("value" in found)) return;
    this.typed = number(found.value, { useGrouping: false });
    const again = parseNumber(this.typed, language);
    if (!("value" in again && again.value === found.value)) this.typed = "";
  }

  forget() {
    this.typed = "";
    this.skipped = false;
  }
}
