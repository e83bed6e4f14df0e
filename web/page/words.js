// @ts-check
/**
 * The page's language: its sentences, the survey's texts, numbers and dates.
 *
 * @typedef {{ language: string, file: string }} Choice a language, and the file of its sentences
 * @typedef {{ text: any, language: string }} Text and the language that it is in after all
 */

/** The page's language around a survey in a language that the page does not have. */
const FALLBACK = "en";
const REMEMBERED = "confide/language";

/** The hash of every file, as the import map in index.html has them.
 * @type {Record<string, string>} */
const HASHES = JSON.parse(document.querySelector("[type=importmap]")?.textContent ?? "").integrity;

/** The file of a language, or of the language without its region: a new one is found once
 * `make web` has written its hash. @type {(language: string) => string | undefined} */
const fileOf = (language) =>
  [language, language.split("-")[0]].map((each) => `./texts/${each}.json`).find((file) => HASHES[file]);

/** Those of some languages that the page has. @type {(languages: readonly string[]) => Choice[]} */
export function choices(languages) {
  const found = languages.map((language) => ({ language, file: fileOf(language) ?? "" }));
  const known = found.filter(({ file }) => file);
  return known.length ? known : [{ language: FALLBACK, file: fileOf(FALLBACK) ?? "" }];
}

/** What was chosen in this tab, else what the browser asks for, else the first.
 * @type {(offered: Choice[]) => Choice} */
export function preferred(offered) {
  for (const wanted of [remembered(), ...navigator.languages]) {
    const near = (/** @type {Choice} */ { language }) => language.split("-")[0] === wanted.split("-")[0];
    const found = offered.find(({ language }) => language === wanted) ?? offered.find(near);
    if (found) return found;
  }
  return offered[0];
}

function remembered() {
  try {
    return sessionStorage.getItem(REMEMBERED) ?? "";
  } catch {
    return ""; // storage is blocked
  }
}

/** Remember a language until the tab is closed. @type {(language: string) => void} */
export function remember(language) {
  try {
    sessionStorage.setItem(REMEMBERED, language);
  } catch {
    // Storage is blocked: the choice holds until the page is left.
  }
}

/** What the page speaks now. */
export let language = FALLBACK;
/** @type {Record<string, string>} */
let sentences = {};

/** Load the sentences of a language, checked against their hash, and speak it from now on.
 * @type {(choice: Choice) => Promise<void>} */
export async function speak(choice) {
  const reply = await fetch(choice.file, { integrity: HASHES[choice.file], credentials: "omit" });
  sentences = await reply.json();
  language = document.documentElement.lang = choice.language;
}

/** A sentence of the page, with values in place of {names}.
 * @type {(key: string, values?: Record<string, string | number>) => string} */
export function say(key, values = {}) {
  if (!(key in sentences)) throw new Error(`The texts have no sentence ${key}.`);
  return sentences[key].replace(/\{(\w+)\}/g, (_, name) => String(values[name]));
}

/** @type {(value: number, options?: Intl.NumberFormatOptions) => string} */
export const number = (value, options) =>
  new Intl.NumberFormat(language, { maximumFractionDigits: 20, ...options }).format(value);

/** @type {(moment: string) => string} */
export const date = (moment) =>
  new Date(moment).toLocaleString(language, { dateStyle: "long", timeStyle: "short" });

/** A language's name in that language. @type {(language: string) => string} */
export const named = (language) =>
  new Intl.DisplayNames([language], { type: "language" }).of(language) ?? language;

/** Three digits of a number, rounded up: a bound must not look smaller than it is.
 * @type {(value: number) => string} */
export function bound(value) {
  const unit = 10 ** (Math.floor(Math.log10(value)) - 2);
  return number(Number((Math.ceil(value / unit - 1e-9) * unit).toPrecision(3)));
}

/** A text of the survey or of a question: translated, or in the survey's own language.
 * @type {(fields: Record<string, any>, key: string, own: string) => Text} */
export function textOf(fields, key, own) {
  const translated = fields[`${key}_${language}`];
  if (language === own || translated === undefined) return { text: fields[key], language: own };
  return { text: translated, language };
}
