// @ts-check
/**
 * The page's languages: its sentences, the survey's texts, numbers and dates in one of them.
 *
 * @typedef {Record<string, string>} Sentences of texts/en.json and its siblings, by key
 * @typedef {{ languages: string[], language: string }} Spoken a survey, as far as languages go
 * @typedef {{ language: string, file: string }} Choice a language, and the file of its sentences
 */

/** The page's language around a survey in a language that the page does not have. */
const FALLBACK = "en";
const KEY = "confide/language";

/** The hash of every file, as the import map in index.html has them. */
const { integrity } = /** @type {{ integrity: Record<string, string> }} */ (
  JSON.parse(document.querySelector('script[type="importmap"]')?.textContent ?? "{}")
);

/** Files of sentences by language. A new file is found once `make web` has written its hash. */
const FILES = new Map(
  Object.keys(integrity).flatMap((file) => {
    const [, language] = /^\.\/texts\/([\w-]+)\.json$/.exec(file) ?? [];
    return language ? [[language, file]] : [];
  }),
);

/** The file for a language: its own, or that of the language without its region.
 * @type {(language: string) => string | undefined} */
const fileOf = (language) => FILES.get(language) ?? FILES.get(language.split("-")[0]);

/** Every language that both the survey and the page have; where there is none, the page is in
 * English around the survey's own texts. @type {(survey: Spoken) => Choice[]} */
export function choices(survey) {
  const found = survey.languages.flatMap((language) => {
    const file = fileOf(language);
    return file ? [{ language, file }] : [];
  });
  return found.length ? found : [{ language: FALLBACK, file: FILES.get(FALLBACK) ?? "" }];
}

/** What was chosen in this tab, else what the browser asks for, else the first.
 * @type {(offered: Choice[]) => Choice} */
export function preferred(offered) {
  const wanted = [remembered(), ...navigator.languages];
  for (const want of wanted) {
    const exact = offered.find(({ language }) => language === want);
    const near = offered.find(({ language }) => language.split("-")[0] === want?.split("-")[0]);
    if (exact ?? near) return /** @type {Choice} */ (exact ?? near);
  }
  return offered[0];
}

/** Before a survey is known, the page speaks what the browser asks for. @type {() => Choice} */
export const browsers = () =>
  preferred(choices({ languages: [FALLBACK, ...FILES.keys()], language: FALLBACK }));

function remembered() {
  try {
    return sessionStorage.getItem(KEY);
  } catch {
    return null; // storage is blocked
  }
}

/** Remember a language until the tab is closed. @type {(language: string) => void} */
export function remember(language) {
  try {
    sessionStorage.setItem(KEY, language);
  } catch {
    // Storage is blocked: the choice holds until the page is left.
  }
}

/** Load the sentences of a language, checked against their hash. @type {(c: Choice) => Promise<Words>} */
export async function load({ language, file }) {
  const reply = await fetch(file, { integrity: integrity[file], credentials: "omit" });
  return new Words(language, await reply.json());
}

/** Round up to three digits that count: a bound must not look smaller than it is.
 * @type {(value: number) => number} */
export function up(value) {
  const unit = 10 ** (Math.floor(Math.log10(value)) - 2);
  return Number((Math.ceil(value / unit - 1e-9) * unit).toPrecision(3));
}

export class Words {
  /** @param {string} language @param {Sentences} sentences */
  constructor(language, sentences) {
    this.language = language;
    this.sentences = sentences;
    this.digits = new Intl.NumberFormat(language, { maximumFractionDigits: 20 });
  }

  /** A sentence of the page, with values in place of {names}.
   * @param {string} key @param {Record<string, string | number>} [values] */
  say(key, values = {}) {
    const sentence = this.sentences[key];
    if (sentence === undefined) throw new Error(`The texts have no sentence ${key}.`);
    return sentence.replace(/\{(\w+)\}/g, (_, name) => String(values[name]));
  }

  /** @param {number} value */
  number(value) {
    return this.digits.format(value);
  }

  /** A number and its unit. @param {number} value @param {string} unit */
  amount(value, unit) {
    return unit ? `${this.number(value)}\u00a0${unit}` : this.number(value);
  }

  /** A number as somebody would type it. @param {number} value */
  typed(value) {
    const plain = { maximumFractionDigits: 20, useGrouping: false };
    return new Intl.NumberFormat(this.language, plain).format(value);
  }

  /** @param {string} moment */
  date(moment) {
    const style = /** @type {const} */ ({ dateStyle: "long", timeStyle: "short" });
    return new Intl.DateTimeFormat(this.language, style).format(new Date(moment));
  }
}

/** A language's name in that language. @type {(language: string) => string} */
export const named = (language) =>
  new Intl.DisplayNames([language], { type: "language" }).of(language) ?? language;

/** A text of the survey or of a question in a language, and the language that it is in after all.
 * @type {(thing: Record<string, any>, key: string, language: string, own: string) =>
 *   { text: any, language: string }} */
export function textOf(thing, key, language, own) {
  const translated = thing[`${key}_${language}`];
  if (language === own || translated === undefined) return { text: thing[key], language: own };
  return { text: translated, language };
}
