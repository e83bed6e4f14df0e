/** Reading numbers that people type, strictly: what could be read in two ways is refused.
 * @import { Parsed } from "./types.d.ts"
 */

/** More digits than these do not fit into a JavaScript number. */
const MOST_DIGITS = 15;
const MOST_CHARACTERS = 40;
const SPACES = " \u00a0\u2009\u202f";
const APOSTROPHES = "'\u2019";

/** The decimal separator of a language, and what may stand between thousands: its own and spaces.
 * @type {(language: string) => { decimal: string, groups: string[] }} */
export function separators(language) {
  const format = new Intl.NumberFormat(language, { numberingSystem: "latn", useGrouping: true });
  const parts = format.formatToParts(1234567.8);
  const of = (/** @type {string} */ type) => parts.find((part) => part.type === type)?.value ?? "";
  const own = of("group");
  const kin = own && APOSTROPHES.includes(own) ? APOSTROPHES : own;
  return { decimal: of("decimal"), groups: [...new Set([...kin, ...SPACES])] };
}

/** The number that a text says in a language: "1.234" is 1.234 in English and 1234 in German.
 * @type {(text: string, language: string) => Parsed} */
export function parseNumber(text, language) {
  const typed = text.trim();
  if (!typed) return { reason: "empty" };
  const { decimal, groups } = separators(language);
  const known = new Set([...groups, decimal, ".", ",", ...APOSTROPHES]);
  const unsigned = typed.replace(/^[-+\u2212]/, "");
  const digit = /[0-9]/;
  const sound = [...unsigned].every((each) => known.has(each) || digit.test(each));
  if (!sound || !digit.test(unsigned)) return { reason: "characters" };
  const [whole, fraction, ...more] = unsigned.split(decimal);
  const joined = groups.map((group) => ungrouped(whole, group)).find((found) => found !== null);
  const decimals = fraction === undefined || /^[0-9]+$/.test(fraction);
  if (more.length || joined === undefined || !decimals) return { reason: "separators" };
  const digits = `${joined}${fraction ?? ""}`;
  if (typed.length > MOST_CHARACTERS || digits.replace(/^0+|0+$/g, "").length > MOST_DIGITS) {
    return { reason: "digits" };
  }
  const value = Number(`${joined || "0"}.${fraction ?? "0"}`);
  return { value: /^[-\u2212]/.test(typed) && value !== 0 ? -value : value };
}

/**
 * The digits before the decimal separator, without this separator of thousands; null where it
 * stands elsewhere. A first group of 0 is none: 0.123 in German is a slip, not 123.
 * @type {(whole: string, group: string) => string | null}
 */
function ungrouped(whole, group) {
  if (/^[0-9]*$/.test(whole)) return whole;
  const [first, ...others] = whole.split(group);
  const sound = /^[1-9][0-9]{0,2}$/.test(first) && others.every((each) => /^[0-9]{3}$/.test(each));
  return sound && others.length ? first + others.join("") : null;
}
