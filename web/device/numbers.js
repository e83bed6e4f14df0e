/** Reading numbers that people type, strictly: what could be read in two ways is refused.
 * @import { Parsed } from "./types.d.ts"
 */

/** More digits than these do not fit into a JavaScript number. */
const MOST_DIGITS = 15;
const MOST_CHARACTERS = 40;
const SPACES = " \u00a0\u2009\u202f";
const APOSTROPHES = "'\u2019";

/** The decimal separator of a language, and what may stand between thousands: its own and spaces.
 * @type {(language: string) => { decimal: string, groups: string }} */
export function separators(language) {
  const format = new Intl.NumberFormat(language, { numberingSystem: "latn", useGrouping: true });
  const parts = format.formatToParts(1234567.8);
  const of = (/** @type {string} */ type) => parts.find((part) => part.type === type)?.value ?? "";
  const own = of("group");
  return { decimal: of("decimal"), groups: (APOSTROPHES.includes(own) ? APOSTROPHES : own) + SPACES };
}

/** The number that a text says in a language: "1.234" is 1.234 in English and 1234 in German. Where
 * the mark before three digits is the decimal one of this language, or of another one that people
 * may have in mind, both numbers are told.
 * @type {(text: string, language: string, another?: string) => Parsed} */
export function parseNumber(text, language, another = language) {
  const typed = text.trim();
  if (!typed) return { reason: "empty" };
  const { decimal, groups } = separators(language);
  const unsigned = typed.replace(/^[-+\u2212]/, "");
  const known = new RegExp(`^[\\d.,${decimal}${groups}${APOSTROPHES}]+$`);
  if (!/\d/.test(unsigned) || !known.test(unsigned)) return { reason: "characters" };
  // Groups of thousands have one separator, and the first is not 0: 0.123 in German is a slip.
  const thousands = `[1-9]\\d{0,2}([${groups}])\\d{3}(?:\\2\\d{3})*`;
  const found = new RegExp(`^(\\d*|${thousands})(?:[${decimal}](\\d+))?$`).exec(unsigned);
  if (!found) return { reason: "separators" };
  const [, whole, , fraction = ""] = found;
  const joined = whole.replace(/\D/g, "");
  const digits = (joined + fraction).replace(/^0+|0+$/g, "");
  if (typed.length > MOST_CHARACTERS || digits.length > MOST_DIGITS) return { reason: "digits" };
  const signed = (/** @type {string} */ number) =>
    /^[-\u2212]/.test(typed) ? 0 - Number(number) : Number(number);
  const value = signed(`${joined}.${fraction}0`);
  const [, first, mark, last] = /^([1-9]\d?\d?)([.,])(\d{3})$/.exec(unsigned) ?? [];
  if (![decimal, separators(another).decimal].includes(mark)) return { value };
  return { value, both: [signed(first + last), signed(`${first}.${last}`)] };
}
