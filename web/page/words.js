// @ts-check
/** The page's language: its sentences, the survey's texts, numbers and dates.
 * @import { Choice, Text } from "./types.d.ts" */

/** Around a survey in a language that the page does not have. */
const FALLBACK = "en";
const KEY = "confide/language";

/** The hash of every file, from index.html. A new file of texts is found once `make web` has
 * written its hash. @type {Record<string, string>} */
const HASHES = JSON.parse(document.querySelector("[type=importmap]")?.textContent ?? "").integrity;

/** @type {(language: string) => string} */
const base = (language) => language.split("-")[0];

/** Those of some languages that the page has. @type {(languages: readonly string[]) => Choice[]} */
export function choices(languages) {
  const found = languages.flatMap((language) =>
    [language, base(language)]
      .map((name) => ({ language, file: `./texts/${name}.json` }))
      .filter(({ file }) => file in HASHES)
      .slice(0, 1));
  return found.length ? found : choices([FALLBACK]);
}

/** What was chosen in this tab, else what the browser asks for, else the first.
 * @type {(offered: Choice[]) => Choice} */
export function preferred(offered) {
  for (const wanted of [chosen(), ...navigator.languages])
    for (const same of [String, base]) {
      const found = offered.find(({ language }) => same(language) === same(wanted));
      if (found) return found;
    }
  return offered[0];
}

/** The language that was chosen in this tab; another one, if it is given.
 * @type {(language?: string) => string} */
export function chosen(language) {
  try {
    if (language) sessionStorage.setItem(KEY, language);
    return sessionStorage.getItem(KEY) ?? "";
  } catch {
    return ""; // storage is blocked
  }
}

/** What the page speaks now. */
export let language = FALLBACK;
/** @type {Record<string, string>} */
let sentences = {};

/** Speak a language from now on. @type {(choice: Choice) => Promise<void>} */
export async function speak(choice) {
  const reply = await fetch(choice.file, { integrity: HASHES[choice.file], credentials: "omit" });
  sentences = await reply.json();
  language = document.documentElement.lang = choice.language;
}

/** A sentence of the page, with values in place of {names}.
 * @type {(key: string, values?: Record<string, string | number>) => string} */
export const say = (key, values = {}) =>
  sentences[key].replace(/\{(\w+)\}/g, (_, name) => String(values[name]));

/** @type {(value: number, options?: Intl.NumberFormatOptions) => string} */
export const number = (value, options) =>
  value.toLocaleString(language, { maximumFractionDigits: 20, ...options });

/** Three digits, rounded up: a bound must not look smaller than it is.
 * @type {(value: number) => string} */
export function bound(value) {
  const unit = 10 ** (Math.floor(Math.log10(value)) - 2);
  return number(Number((Math.ceil(value / unit - 1e-9) * unit).toPrecision(3)));
}

/** @type {(moment: string) => string} */
export const date = (moment) =>
  new Date(moment).toLocaleString(language, { dateStyle: "long", timeStyle: "short" });

/** A language's name in that language. @type {(language: string) => string | undefined} */
export const named = (language) =>
  new Intl.DisplayNames([language], { type: "language" }).of(language);

/** A text of the survey or of a question: translated, or in the survey's own language.
 * @type {(fields: Record<string, any>, key: string, own: string) => Text} */
export function textOf(fields, key, own) {
  const translated = language !== own && fields[`${key}_${language}`];
  return translated ? { text: translated, language } : { text: fields[key], language: own };
}
