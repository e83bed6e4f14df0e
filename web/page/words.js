/** The page's language: its sentences, the survey's texts, numbers and dates.
 * @import * as T from "./types.d.ts" */

/** Around a survey in a language that the page does not have. */
const FALLBACK = "en";

/** The hash of every file, from index.html: `make web` puts new texts there, and they are offered.
 * @type {T.Keys} */
const HASHES = JSON.parse(document.querySelector("[type=importmap]")?.textContent ?? "").integrity;

/** @param {string} language */
const base = (language) => language.split("-")[0];

/** Those of some languages that the page has. @type {T.Choices} */
export function choices(languages) {
  const found = languages.flatMap((language) => {
    const files = [language, base(language)].map((name) => `./texts/${name}.json`);
    const file = files.find((each) => each in HASHES);
    return file ? [{ language, file }] : [];
  });
  return found.length ? found : choices([FALLBACK]);
}

/** What the browser asks for, else the first. @param {T.Choice[]} offered */
export function preferred(offered) {
  for (const wanted of navigator.languages)
    for (const same of [String, base]) {
      const found = offered.find(({ language }) => same(language) === same(wanted));
      if (found) return found;
    }
  return offered[0];
}

/** What the page speaks now. */
export let language = FALLBACK;
/** @type {Record<string, string>} */
let sentences = {};

/** Speak a language from now on. @param {T.Choice} choice */
export async function speak(choice) {
  const reply = await fetch(choice.file, { integrity: HASHES[choice.file], credentials: "omit" });
  sentences = await reply.json();
  language = document.documentElement.lang = choice.language;
}

/** A sentence of the page, with values in place of {names}. @type {T.Sentence} */
export const say = (key, values = {}) =>
  sentences[key].replace(/\{(\w+)\}/g, (_, name) => values[name]);

/** @param {number} value @param {object} [options] */
export const number = (value, options) =>
  value.toLocaleString(language, { maximumFractionDigits: 20, ...options });

/** A bound must not look smaller than it is; 0.1 + 0.2 is 0.3. @param {number} value */
export const bound = (value) =>
  number(Number(value.toPrecision(12)), { maximumSignificantDigits: 3, roundingMode: "ceil" });

/** @param {string} moment */
export const date = (moment) =>
  new Date(moment).toLocaleString(language, { dateStyle: "long", timeStyle: "short" });

/** A language's name in that language. @param {string} language */
export const named = (language) =>
  new Intl.DisplayNames([language], { type: "language" }).of(language);

/** A text of the survey or of a question: translated, or in the survey's own language.
 * @type {T.Translate} */
export function textOf(fields, key, own) {
  const translated = language !== own && fields[`${key}_${language}`];
  return translated ? { text: translated, language } : { text: fields[key], language: own };
}
