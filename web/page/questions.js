// @ts-check
/**
 * Questions as the page asks them: a question's texts, its mechanism, and reading what was entered.
 *
 * @typedef {import("./device.js").Mechanism} Mechanism
 * @typedef {import("./words.js").Words} Words
 * @typedef {Record<string, any>} Fields of survey.json
 *
 * @typedef {object} Draft what was entered so far; it lives in this tab's memory only
 * @property {string} typed a number as it was typed, or the name of a category
 * @property {boolean} skipped whether the person would rather not answer
 */

import { mechanism } from "./device.js";
import { parseNumber } from "./numbers.js";
import { textOf } from "./words.js";

export class Question {
  /** @param {Fields} fields @param {string} own the survey's language @param {number} at */
  constructor(fields, own, at) {
    this.fields = fields;
    this.own = own;
    this.id = `q${at + 1}`;
    this.name = /** @type {string} */ (fields.name);
    this.mechanism = mechanism(fields.mechanism);
    this.epsilon = /** @type {number} */ (fields.mechanism.epsilon);
    this.categories = /** @type {string[] | undefined} */ (fields.mechanism.categories);
    this.missing = /** @type {number | string | null} */ (fields.missing);
    /** @type {Draft} */
    this.draft = { typed: "", skipped: false };
  }

  get low() {
    return /** @type {number} */ (this.fields.mechanism.lattice.low);
  }

  get high() {
    return /** @type {number} */ (this.fields.mechanism.lattice.high);
  }

  /** @param {string} key @param {string} language */
  text(key, language) {
    return textOf(this.fields, key, language, this.own);
  }

  /** What is asked; a question without a text is asked by its name. @param {string} language */
  asked(language) {
    const { text, language: spoken } = this.text("text", language);
    return text ? { text, language: spoken } : { text: this.name, language: this.own };
  }

  /** What stands for a category. @param {string} category @param {string} language */
  label(category, language) {
    const { text, language: spoken } = this.text("labels", language);
    const at = (this.categories ?? []).indexOf(category);
    return { text: /** @type {string} */ (text?.[at] ?? category), language: spoken };
  }

  /** An answer as people read it. @param {number | string} answer @param {Words} words */
  shown(answer, words) {
    if (typeof answer === "string") return this.label(answer, words.language).text;
    return words.amount(answer, this.text("unit", words.language).text ?? "");
  }

  /** The answer that was entered, or the sentence that says what is wrong with it.
   * @param {string} language @returns {{ answer: number | string } | { wrong: string }} */
  read(language) {
    const { typed, skipped } = this.draft;
    if (skipped && this.missing !== null) return { answer: this.missing };
    if (this.categories) {
      return this.categories.includes(typed) ? { answer: typed } : { wrong: "wrong_choice" };
    }
    const found = parseNumber(typed, language);
    return "value" in found ? { answer: found.value } : { wrong: `wrong_${found.reason}` };
  }

  /** Keep what was entered when the language changes: 1.234 is one number in English and another
   * in German. @param {string} before @param {Words} words */
  translate(before, words) {
    const found = parseNumber(this.draft.typed, before);
    if (this.categories || !("value" in found)) return;
    const typed = words.typed(found.value);
    const again = parseNumber(typed, words.language);
    this.draft.typed = "value" in again && again.value === found.value ? typed : "";
  }

  /** Forget what was entered. */
  forget() {
    this.draft = { typed: "", skipped: false };
  }
}
