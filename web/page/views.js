// @ts-check
/**
 * What is on the screen at each step, as nodes. Texts become text nodes, never HTML.
 *
 * @typedef {import("./questions.js").Question} Question
 * @typedef {import("./words.js").Words} Words
 * @typedef {import("./upload.js").State} State
 * @typedef {Node | string | null | undefined | false} Child
 *
 * @typedef {object} Scene what views are made of
 * @property {Words} words
 * @property {Record<string, any>} survey
 * @property {Question[]} questions
 * @property {string[]} groups of the person, as the invitation has them
 * @property {boolean} lasting whether this browser lets the page store something
 */

import { textOf, up } from "./words.js";

/** From here on the odds change by a factor of twenty thousand and more. */
const WEAK = 10;
/** Parts of the scale that have a name. */
const PARTS = { half: 1 / 2, third: 1 / 3, quarter: 1 / 4, fifth: 1 / 5, tenth: 1 / 10 };
const SVG = "http://www.w3.org/2000/svg";

/** An element. Keys that begin with "on" listen; false and null leave an attribute out.
 * @type {<T extends keyof HTMLElementTagNameMap>(tag: T, keys?: Record<string, any> | null,
 *   ...children: Child[]) => HTMLElementTagNameMap[T]} */
export function el(tag, keys, ...children) {
  const made = document.createElement(tag);
  for (const [key, value] of Object.entries(keys ?? {})) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value !== false && value !== null) made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child instanceof Node || typeof child === "string"));
  return made;
}

/** The heading of a view, which gets the focus when the view appears.
 * @type {(text: string, keys?: Record<string, any>) => HTMLElement} */
const heading = (text, keys) => el("h1", { tabindex: "-1", ...keys }, text);

/** The language of a text, where it is not the page's.
 * @type {(spoken: string, words: Words) => string | false} */
const lang = (spoken, words) => spoken !== words.language && spoken;

/** A text of the survey. @type {(scene: Scene, key: string) => { text: any, language: string }} */
const own = ({ survey, words }, key) => textOf(survey, key, words.language, survey.language);

/** The survey's title. @type {(scene: Scene) => { text: string, language: string }} */
export function title(scene) {
  const { text, language } = own(scene, "title");
  return text ? { text, language } : { text: scene.words.say("untitled"), language: scene.words.language };
}

/** Whom to ask. @type {(scene: Scene) => Child} */
function contact(scene) {
  const { text, language } = own(scene, "contact");
  if (!text) return null;
  const target = /^https:\/\/\S+$/.test(text) ? text : /^\S+@\S+\.\S+$/.test(text) && `mailto:${text}`;
  const shown = target ? el("a", { href: target, rel: "noreferrer" }, text) : text;
  return el("p", { class: "quiet" }, `${scene.words.say("contact")} `, el("span", { lang: lang(language, scene.words) }, shown));
}

/** The switch of languages. @type {(offered: string[], words: Words, named: (l: string) => string,
 *   pick: (language: string) => void) => HTMLElement} */
export function languages(offered, words, named, pick) {
  const buttons = offered.map((language) =>
    el("button", {
      type: "button",
      lang: language,
      "aria-pressed": String(language === words.language),
      onclick: () => pick(language),
    }, named(language)),
  );
  return el("div", { role: "group", "aria-label": words.say("languages") }, ...buttons);
}

/** @type {(scene: Scene) => HTMLElement} */
function whoSeesWhat({ words, survey }) {
  const rows = ["you", "owner", "intruder", "reader"].map((who) => {
    const key = who === "owner" && !survey.invited ? "sees_owner_open" : `sees_${who}`;
    return el("tr", null, el("th", { scope: "row" }, words.say(`who_${who}`)), el("td", null, words.say(key)));
  });
  const head = el("tr", null,
    el("th", { scope: "col" }, words.say("who")),
    el("th", { scope: "col" }, words.say("sees")));
  return el("section", { class: "card", "aria-labelledby": "who" },
    el("h2", { id: "who" }, words.say("who_title")),
    el("p", null, words.say("process")),
    el("table", null, el("thead", null, head), el("tbody", null, ...rows)));
}

/** @type {(scene: Scene) => HTMLElement} */
function notHidden({ words, survey, groups }) {
  const named = groups.map((value, at) => `${survey.groups[at]}: ${value}`).join(", ");
  const items = [
    words.say(survey.invited ? "open_part" : "open_part_open"),
    named && words.say("open_groups", { groups: named }),
    words.say("open_address"),
    words.say("open_again"),
    words.say("open_page"),
  ];
  return el("section", { class: "card", "aria-labelledby": "open" },
    el("h2", { id: "open" }, words.say("open_title")),
    el("ul", null, ...items.map((item) => item && el("li", null, item))));
}

/** What a spend means. @type {(key: string, epsilon: number, words: Words, n?: number) => string} */
function bound(key, epsilon, words, n = 1) {
  const values = { factor: words.number(up(Math.exp(epsilon))), epsilon: words.number(up(epsilon)), n };
  return words.say(key, values) + (epsilon >= WEAK ? ` ${words.say("weak")}` : "");
}

/** @type {(scene: Scene) => HTMLElement | null} */
function allTogether({ words, questions }) {
  if (questions.length < 2) return null;
  const sum = questions.reduce((total, { epsilon }) => total + epsilon, 0);
  return el("section", { class: "card", "aria-labelledby": "sum" },
    el("h2", { id: "sum" }, words.say("sum_title")),
    el("p", null, bound("sum", sum, words, questions.length)));
}

/** A hundred people, of whom so many. @type {(count: number, caption: string) => HTMLElement} */
function people(count, caption) {
  const dot = (/** @type {number} */ at) => `M${6 * (at % 20) + 0.7} ${6 * Math.floor(at / 20) + 3}a2.3 2.3 0 1 0 4.6 0a2.3 2.3 0 1 0-4.6 0`;
  const path = (/** @type {string} */ kind, /** @type {number} */ first, /** @type {number} */ end) => {
    const made = document.createElementNS(SVG, "path");
    made.setAttribute("class", kind);
    made.setAttribute("d", Array.from({ length: end - first }, (_, k) => dot(first + k)).join(""));
    return made;
  };
  const picture = document.createElementNS(SVG, "svg");
  picture.setAttribute("viewBox", "0 0 120 30");
  picture.setAttribute("aria-hidden", "true");
  picture.append(path("some", 0, count), path("rest", count, 100));
  return el("figure", null, picture, el("figcaption", null, caption));
}

/** Odds of a question, from its law. @type {(question: Question, words: Words) => HTMLElement} */
function protection({ mechanism, categories, epsilon }, words) {
  const odds = mechanism.odds();
  const [same, other] = [odds.same, odds.other].map((share) => Math.round(100 * share));
  const share = odds.window / odds.outputs;
  const near = Object.entries(PARTS).find(([, part]) => Math.abs(part - share) < 0.02);
  const part = near ? words.say(`part_${near[0]}`) : words.say("part_percent", { n: Math.round(100 * share) });
  const kind = categories ? "words" : "number";
  return el("details", null,
    el("summary", null, words.say("protection")),
    el("p", null, words.say(`odds_${kind}`, { same, other, part })),
    el("div", { class: "people" },
      people(same, words.say("people_same", { n: same })),
      people(other, words.say("people_other", { n: other }))),
    el("p", null, words.say("odds_so")),
    el("p", { class: "quiet" }, bound("bound", epsilon, words)));
}

/** @type {(question: Question, words: Words) => HTMLElement} */
function numberEntry(question, words) {
  const { id, draft, missing, low, high } = question;
  const unit = question.text("unit", words.language);
  const echo = el("p", { class: "echo", id: `${id}-echo` });
  const input = el("input", {
    id,
    type: "text",
    // The number pads of phones have no minus.
    inputmode: low < 0 ? "text" : "decimal",
    autocomplete: "off",
    spellcheck: "false",
    "aria-describedby": `${id}-help ${id}-bounds ${id}-unit ${id}-error`,
    oninput: () => {
      draft.typed = input.value;
      show();
    },
  });
  const show = () => {
    const found = question.read(words.language);
    const legible = "answer" in found && !draft.skipped;
    echo.textContent = legible ? words.say("reads", { answer: question.shown(found.answer, words) }) : "";
    input.disabled = draft.skipped;
  };
  const skip = el("input", {
    type: "checkbox",
    id: `${id}-skip`,
    checked: draft.skipped,
    onchange: () => {
      draft.skipped = skip.checked;
      show();
    },
  });
  input.value = draft.typed;
  show();
  const bounds = words.say("bounds", { low: words.number(low), high: words.number(high) });
  return el("div", null,
    el("p", { class: "quiet", id: `${id}-bounds` }, bounds),
    el("p", { class: "error", id: `${id}-error` }),
    el("div", { class: "entry" }, input, el("span", { id: `${id}-unit`, lang: lang(unit.language, words) }, unit.text ?? "")),
    echo,
    missing !== null && el("label", { class: "choice" }, skip, el("span", null, words.say("skip", { answer: question.shown(missing, words) }))));
}

/** @type {(question: Question, words: Words) => HTMLElement} */
function wordEntry(question, words) {
  const { id, draft, missing } = question;
  const radio = (/** @type {string} */ category, /** @type {boolean} */ skipped, /** @type {string} */ text, /** @type {string} */ spoken) =>
    el("label", { class: "choice", lang: lang(spoken, words) },
      el("input", {
        type: "radio",
        name: id,
        autocomplete: "off",
        checked: skipped ? draft.skipped : draft.typed === category && !draft.skipped,
        onchange: () => Object.assign(draft, { typed: skipped ? "" : category, skipped }),
      }),
      el("span", null, text));
  const given = (question.categories ?? []).map((category) => {
    const { text, language } = question.label(category, words.language);
    return radio(category, false, text, language);
  });
  given[0].firstElementChild?.setAttribute("id", id);
  return el("div", null,
    el("p", { class: "error", id: `${id}-error` }),
    ...given,
    missing !== null && radio("", true, words.say("skip", { answer: question.shown(missing, words) }), words.language));
}

/** @type {(question: Question, scene: Scene, at: number) => HTMLElement} */
function asked(question, { words, questions }, at) {
  const { id, categories } = question;
  const { text, language } = question.asked(words.language);
  const help = question.text("help", words.language);
  const step = questions.length > 1 && el("p", { class: "step" }, words.say("step", { n: at + 1, all: questions.length }));
  const hint = el("p", { class: "help", id: `${id}-help`, lang: lang(help.language, words) }, help.text ?? "");
  const spoken = { lang: lang(language, words) };
  const body = categories
    ? el("fieldset", { "aria-describedby": `${id}-help ${id}-error` },
        el("legend", null, el("h2", spoken, text)), hint, wordEntry(question, words))
    : el("div", null, el("h2", spoken, el("label", { for: id }, text)), hint, numberEntry(question, words));
  return el("div", { class: "card question", id: `${id}-card` }, step, body, protection(question, words));
}

/** All questions. `done` is called when every answer can be read.
 * @type {(scene: Scene, done: () => void) => Node[]} */
export function form(scene, done) {
  const { words, survey, questions } = scene;
  const name = title(scene);
  const intro = own(scene, "intro");
  const summary = el("div", { class: "summary", role: "alert", tabindex: "-1", hidden: true });
  const check = (/** @type {Event} */ event) => {
    event.preventDefault();
    const wrong = questions.flatMap((question) => {
      const found = question.read(words.language);
      const message = "wrong" in found ? words.say(found.wrong, { example: words.number(1234.5) }) : "";
      mark(question.id, message);
      return message ? [{ question, message }] : [];
    });
    summary.hidden = !wrong.length;
    if (!wrong.length) return done();
    // The address ends in the invitation, so these are no links to #fields.
    const jumps = wrong.map(({ question, message }) =>
      el("li", null, el("button", { type: "button", class: "link", onclick: () => document.getElementById(question.id)?.focus() },
        `${question.asked(words.language).text} – ${message}`)));
    summary.replaceChildren(el("h2", null, words.say("wrong_title")), el("ul", null, ...jumps));
    summary.focus();
  };
  return [
    heading(name.text, { lang: lang(name.language, words) }),
    intro.text && el("p", { class: "intro", lang: lang(intro.language, words) }, intro.text),
    survey.closes && el("p", { class: "quiet" }, words.say("closes", { date: words.date(survey.closes) })),
    contact(scene),
    whoSeesWhat(scene),
    el("form", { novalidate: true, autocomplete: "off", onsubmit: check },
      summary,
      ...questions.map((question, at) => asked(question, scene, at)),
      allTogether(scene),
      notHidden(scene),
      el("p", null, words.say("not_yet")),
      el("button", { class: "main" }, words.say("review"))),
  ].filter((node) => node instanceof Node);
}

/** @type {(id: string, message: string) => void} */
function mark(id, message) {
  const error = document.getElementById(`${id}-error`);
  if (error) error.textContent = message;
  document.getElementById(`${id}-card`)?.classList.toggle("wrong", Boolean(message));
  const field = document.getElementById(id);
  if (message) field?.setAttribute("aria-invalid", "true");
  else field?.removeAttribute("aria-invalid");
}

/** What was read, before anything is drawn.
 * @type {(scene: Scene, send: () => void, back: () => void) => Node[]} */
export function review(scene, send, back) {
  const { words, questions, lasting } = scene;
  const rows = questions.flatMap((question) => {
    const found = question.read(words.language);
    if (!("answer" in found)) return [];
    const { answer } = found;
    const { text, language } = question.asked(words.language);
    const key = question.draft.skipped ? "skipped" : question.categories ? "chosen" : "entered";
    return [
      el("dt", { lang: lang(language, words) }, text),
      el("dd", null, el("strong", null, words.say(key, { answer: question.shown(answer, words) })), beyond(question, answer, words)),
    ];
  });
  const button = el("button", { type: "button", class: "main", onclick: () => {
    button.disabled = true; // of two clicks one counts
    send();
  } }, words.say("send"));
  return [
    heading(words.say("review_title")),
    el("p", null, words.say("review_text")),
    el("dl", { class: "card" }, ...rows),
    el("h2", null, words.say("then_title")),
    el("ol", null, ...["then_draw", "then_forget", "then_send"].map((key) => el("li", null, words.say(key)))),
    el("p", null, words.say("then_final")),
    ...(lasting ? [] : [el("p", { class: "warning" }, words.say("memory_before"))]),
    el("div", { class: "buttons" }, button,
      el("button", { type: "button", onclick: back }, words.say("back"))),
  ];
}

/** What an answer beyond the bounds counts as.
 * @type {(question: Question, answer: number | string, words: Words) => Child} */
function beyond(question, answer, words) {
  if (typeof answer === "string" || (question.low <= answer && answer <= question.high)) return null;
  const [key, limit] = answer < question.low ? ["below", question.low] : ["above", question.high];
  return el("p", { class: "quiet" }, words.say(`${key}_counts`, { limit: question.shown(Number(limit), words) }));
}

/** The upload, and what became of it. `told` changes the words on top when there is news.
 * @type {(scene: Scene, body: string, now: () => void) =>
 *   { nodes: Node[], told: (state: State) => void }} */
export function sent(scene, body, now) {
  const { words, questions, lasting } = scene;
  const text = el("p");
  const top = heading("");
  const panel = el("div", { class: "panel", role: "status" }, top, text);
  const again = el("button", { type: "button", hidden: true, onclick: now }, words.say("send_now"));
  const reload = el("button", { type: "button", hidden: true, onclick: () => location.reload() }, words.say("reload"));
  const warning = el("p", { class: "warning", hidden: true }, words.say("memory_after"));
  const left = el("h2", { id: "left" });
  const { reports } = JSON.parse(body);
  const rows = questions.map((question) => {
    const { text, language } = question.asked(words.language);
    const report = reports[question.name];
    const values = { report: words.number(report), last: words.number(question.mechanism.outputs - 1) };
    const category = question.categories?.[report];
    const reads = category === undefined
      ? words.say("report_number", values)
      : words.say("report_word", { ...values, word: question.label(category, words.language).text });
    return el("tr", null, el("th", { scope: "row", lang: lang(language, words) }, text), el("td", null, reads));
  });
  const parts = ["reports", "receipt", "invitation", "survey"].map((key) => el("li", null, words.say(`part_of_${key}`)));
  /** @type {(state: State) => void} */
  const told = (state) => {
    // Said once, and not at every attempt: screen readers read what changes.
    const key = state === "sending" && panel.dataset.state === "waiting" ? "waiting" : state;
    panel.dataset.state = key;
    set(top, words.say(`${key}_title`));
    set(text, words.say(`${key}_text`));
    set(left, words.say(key === "sending" || key === "waiting" ? "leaving" : "left"));
    again.hidden = key !== "waiting";
    reload.hidden = key !== "changed";
    warning.hidden = lasting || (key !== "sending" && key !== "waiting");
  };
  const nodes = [
    panel,
    warning,
    el("div", { class: "buttons" }, again, reload),
    el("section", { class: "card", "aria-labelledby": "left" },
      left,
      el("pre", { id: "body" }, body),
      el("table", null, el("thead", null, el("tr", null,
        el("th", { scope: "col" }, words.say("question")), el("th", { scope: "col" }, words.say("report")))),
        el("tbody", null, ...rows)),
      el("details", null, el("summary", null, words.say("parts")), el("ul", null, ...parts))),
    contact(scene),
  ].filter((node) => node instanceof Node);
  return { nodes, told };
}

/** @type {(node: HTMLElement, text: string) => void} */
function set(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/** Why there is nothing to answer here.
 * @type {(words: Words, kind: string, scene?: Scene | null, reason?: string) => Node[]} */
export function stopped(words, kind, scene, reason) {
  const button = ["load", "changed_before"].includes(kind) &&
    el("button", { type: "button", onclick: () => location.reload() }, words.say("reload"));
  return [
    heading(words.say(`${kind}_title`)),
    el("p", null, words.say(`${kind}_text`)),
    reason && el("p", { class: "quiet", lang: "en" }, reason),
    button,
    scene && contact(scene),
  ].filter((node) => node instanceof Node);
}
