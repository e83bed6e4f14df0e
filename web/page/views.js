// @ts-check
/**
 * What is on the screen at each step, as nodes. Texts become text nodes, never HTML.
 *
 * @typedef {import("./questions.js").Question} Question
 * @typedef {import("./upload.js").State} State
 * @typedef {Node | string | null | undefined | false} Child
 *
 * @typedef {object} Scene
 * @property {Record<string, any>} survey
 * @property {Question[]} questions
 * @property {string[]} groups of the person, as the invitation has them
 * @property {boolean} lasting whether this browser lets the page store something
 */

import { bound, date, language, named, number, say, textOf } from "./words.js";

/** From here on the odds change by a factor of twenty thousand and more. */
const WEAK = 10;
/** Parts of the scale that have a name. */
const PARTS = { half: 1 / 2, third: 1 / 3, quarter: 1 / 4 };

/** An element, as "tag.class". An object sets attributes, and listeners where it has functions.
 * @type {(kind: string, ...parts: (Child | Record<string, any>)[]) => HTMLElement} */
function h(kind, ...parts) {
  const [tag, ...classes] = kind.split(".");
  const made = document.createElement(tag);
  made.classList.add(...classes);
  for (const part of parts) {
    if (part instanceof Node || typeof part === "string") made.append(part);
    else
      for (const [key, value] of Object.entries(part || {}))
        if (typeof value === "function") made.addEventListener(key, value);
        else if (value !== false) made.setAttribute(key, value);
  }
  return made;
}

/** @type {(...parts: (Child | Record<string, any>)[]) => HTMLInputElement} */
const input = (...parts) =>
  /** @type {HTMLInputElement} */ (h("input", { autocomplete: "off" }, ...parts));

/** An element with a text of the survey, which may be in another language than the page.
 * @type {(kind: string, text: import("./words.js").Text, keys?: object) => HTMLElement} */
const spoken = (kind, text, keys = {}) =>
  h(kind, keys, { lang: text.language !== language && text.language }, text.text ?? "");

/** The heading of a view gets the focus. @type {(text: string, keys?: object) => HTMLElement} */
const heading = (text, keys = {}) => h("h1", { tabindex: -1, ...keys }, text);

/** @type {(title: string, ...parts: Child[]) => HTMLElement} */
const card = (title, ...parts) => h("section.card", h("h2", title), ...parts);

/** @type {(head: string[], rows: [Child, Child][]) => HTMLElement} */
const table = (head, rows) =>
  h("table",
    h("thead", h("tr", ...head.map((text) => h("th", { scope: "col" }, text)))),
    h("tbody", ...rows.map(([name, text]) => h("tr", h("th", { scope: "row" }, name), h("td", text)))));

/** @type {(kind: string, items: Child[]) => HTMLElement} */
const list = (kind, items) => h(kind, ...items.filter(Boolean).map((item) => h("li", item)));

/** @type {(key: string, click: () => void, keys?: object) => HTMLElement} */
const button = (key, click, keys = {}) => h("button", { type: "button", click, ...keys }, say(key));

/** @type {(scene: Scene, key: string) => import("./words.js").Text} */
const own = ({ survey }, key) => textOf(survey, key, survey.language);

/** @type {(scene: Scene) => import("./words.js").Text} */
export function title(scene) {
  const found = own(scene, "title");
  return found.text ? found : { text: say("untitled"), language };
}

/** Whom to ask. @type {(scene: Scene) => Child} */
function contact(scene) {
  const found = own(scene, "contact");
  const { text } = found;
  if (!text) return null;
  const href = /^https:\/\/\S+$/.test(text) ? text : /^\S+@\S+\.\S+$/.test(text) && `mailto:${text}`;
  return h("p.quiet", say("contact"), " ", spoken(href ? "a" : "span", found, { href, rel: "noreferrer" }));
}

/** The switch of languages. @type {(offered: string[], pick: (each: string) => void) => Node} */
export const languages = (offered, pick) =>
  h("div", { role: "group", "aria-label": say("languages") },
    ...offered.map((each) =>
      h("button", { type: "button", lang: each, "aria-pressed": `${each === language}`, click: () => pick(each) }, named(each))));

/** @type {(scene: Scene) => HTMLElement} */
function whoSeesWhat({ survey }) {
  const owner = survey.invited ? "sees_owner" : "sees_owner_open";
  return card(say("who_title"), h("p", say("process")), table([say("who"), say("sees")], [
    [say("who_you"), say("sees_you")],
    [say("who_owner"), say(owner)],
    [say("who_intruder"), say("sees_intruder")],
    [say("who_reader"), say("sees_reader")],
  ]));
}

/** @type {(scene: Scene) => HTMLElement} */
function notHidden({ survey, groups }) {
  const facts = groups.map((value, at) => `${survey.groups[at]}: ${value}`).join(", ");
  return card(say("open_title"), list("ul", [
    say(survey.invited ? "open_part" : "open_part_open"),
    facts && say("open_groups", { groups: facts }),
    say("open_address"),
    say("open_again"),
    say("open_page"),
  ]));
}

/** What an epsilon means. @type {(key: string, epsilon: number, n?: number) => string} */
const meaning = (key, epsilon, n = 1) =>
  say(key, { n, factor: bound(Math.exp(epsilon)), epsilon: bound(epsilon) }) +
  (epsilon >= WEAK ? ` ${say("weak")}` : "");

/** @type {(scene: Scene) => Child} */
function allTogether({ questions }) {
  const sum = questions.reduce((total, { epsilon }) => total + epsilon, 0);
  return questions.length > 1 && card(say("sum_title"), h("p", meaning("sum", sum, questions.length)));
}

/** A hundred people, some of them in color. @type {(some: number, caption: string) => Node} */
function people(some, caption) {
  const svg = (/** @type {string} */ tag, /** @type {Record<string, string>} */ keys) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const key in keys) made.setAttribute(key, keys[key]);
    return made;
  };
  const dots = Array.from({ length: 100 }, (_, at) =>
    `M${6 * (at % 20) + 0.7} ${6 * Math.floor(at / 20) + 3}a2.3 2.3 0 1 0 4.6 0a2.3 2.3 0 1 0-4.6 0`);
  const picture = svg("svg", { viewBox: "0 0 120 30", "aria-hidden": "true" });
  picture.append(
    svg("path", { class: "some", d: dots.slice(0, some).join("") }),
    svg("path", { class: "rest", d: dots.slice(some).join("") }));
  return h("figure", picture, h("figcaption", caption));
}

/** Odds of a question, from its law. @type {(question: Question) => HTMLElement} */
function protection({ mechanism, categories, epsilon }) {
  const odds = mechanism.odds();
  const [same, other] = [odds.same, odds.other].map((share) => Math.round(100 * share));
  const share = odds.window / odds.outputs;
  const name = Object.entries(PARTS).find(([, part]) => Math.abs(part - share) < 0.02)?.[0];
  const part = say(name ? `part_${name}` : "part_percent", { n: Math.round(100 * share) });
  return h("details",
    h("summary", say("protection")),
    h("p", say(categories ? "odds_words" : "odds_number", { same, other, part })),
    h("div.people", people(same, say("people_same", { n: same })), people(other, say("people_other", { n: other }))),
    same < 95 && h("p", say("odds_so")),
    h("p.quiet", meaning("bound", epsilon)));
}

/** @type {(question: Question) => Node[]} */
function numberEntry(question) {
  const { id, missing, bounds: { low, high } } = question;
  const show = () => {
    const found = question.read();
    const legible = "answer" in found && !question.skipped;
    echo.textContent = legible ? say("reads", { answer: question.shown(found.answer) }) : "";
    field.disabled = question.skipped;
  };
  const echo = h("p.echo");
  const field = input({
    id,
    // The number pads of phones have no minus.
    inputmode: low < 0 ? "text" : "decimal",
    "aria-describedby": ["help", "bounds", "unit", "error"].map((part) => `${id}-${part}`).join(" "),
    input() {
      question.typed = field.value;
      show();
    },
  });
  const skip = input({
    type: "checkbox",
    checked: question.skipped,
    change() {
      question.skipped = skip.checked;
      show();
    },
  });
  field.value = question.typed;
  show();
  return [
    h("p.quiet", { id: `${id}-bounds` }, say("bounds", { low: number(low), high: number(high) })),
    h("p.error", { id: `${id}-error` }),
    h("div.entry", field, spoken("span", question.text("unit"), { id: `${id}-unit` })),
    echo,
    ...(missing === null ? [] : [h("label.choice", skip, h("span", say("skip", { answer: question.shown(missing) })))]),
  ];
}

/** @type {(question: Question) => Node[]} */
function wordEntry(question) {
  const { id, categories = [], missing } = question;
  const radio = (/** @type {string} */ category, /** @type {Node} */ label, /** @type {boolean} */ skipped) =>
    h("label.choice",
      input({
        type: "radio",
        name: id,
        checked: question.skipped === skipped && question.typed === category,
        change: () => Object.assign(question, { typed: category, skipped }),
      }),
      label);
  const offered = categories.map((each) => radio(each, spoken("span", question.label(each)), false));
  if (missing !== null) offered.push(radio("", h("span", say("skip", { answer: question.shown(missing) })), true));
  offered[0].firstElementChild?.setAttribute("id", id);
  return [h("p.error", { id: `${id}-error` }), ...offered];
}

/** @type {(question: Question, at: number, all: Question[]) => HTMLElement} */
function asked(question, at, all) {
  const { id, categories } = question;
  const help = spoken("p.help", question.text("help"), { id: `${id}-help` });
  return h("div.card", { id: `${id}-card` },
    all.length > 1 && h("p.quiet.step", say("step", { n: at + 1, all: all.length })),
    categories
      ? h("fieldset", { "aria-describedby": `${id}-help ${id}-error` },
          h("legend", spoken("h2", question.asked)), help, ...wordEntry(question))
      : h("div", h("h2", spoken("label", question.asked, { for: id })), help, ...numberEntry(question)),
    protection(question));
}

/** All questions; `done` is called when every answer can be read.
 * @type {(scene: Scene, done: () => void) => Child[]} */
export function form(scene, done) {
  const { survey, questions } = scene;
  const intro = own(scene, "intro");
  const summary = h("div.summary", { role: "alert", tabindex: -1, hidden: true });
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    const wrong = questions.filter(mark);
    summary.hidden = !wrong.length;
    if (!wrong.length) return done();
    // No links to #fields: the address ends in the invitation.
    const jumps = wrong.map(({ id, asked }) =>
      h("button.link", { type: "button", click: () => byId(id)?.focus() }, `${asked.text} – ${byId(`${id}-error`)?.textContent}`));
    summary.replaceChildren(h("h2", say("wrong_title")), list("ul", jumps));
    summary.focus();
  };
  return [
    spoken("h1", title(scene), { tabindex: -1 }),
    intro.text && spoken("p.intro", intro),
    survey.closes && h("p.quiet", say("closes", { date: date(survey.closes) })),
    contact(scene),
    whoSeesWhat(scene),
    h("form", { novalidate: true, submit },
      summary,
      ...questions.map(asked),
      allTogether(scene),
      notHidden(scene),
      h("p", say("not_yet")),
      h("button.main", say("review"))),
  ];
}

/** @type {(id: string) => HTMLElement | null} */
const byId = (id) => document.getElementById(id);

/** Say beside a question what is wrong, if anything is. @type {(question: Question) => boolean} */
function mark(question) {
  const found = question.read();
  const wrong = "wrong" in found;
  const error = /** @type {HTMLElement} */ (byId(`${question.id}-error`));
  error.textContent = wrong ? say(found.wrong, { example: number(1234.5) }) : "";
  byId(`${question.id}-card`)?.classList.toggle("wrong", wrong);
  byId(question.id)?.setAttribute("aria-invalid", `${wrong}`);
  return wrong;
}

/** What was read, before anything is drawn.
 * @type {(scene: Scene, send: () => void, back: () => void) => Child[]} */
export function review({ questions, lasting }, send, back) {
  const rows = questions.flatMap((question) => {
    const found = question.read();
    if (!("answer" in found)) return [];
    const key = question.skipped ? "skipped" : question.categories ? "chosen" : "entered";
    const text = say(key, { answer: question.shown(found.answer) });
    return [spoken("dt", question.asked), h("dd", h("strong", text), beyond(question, found.answer))];
  });
  const sending = button("send", () => {
    sending.setAttribute("disabled", ""); // of two clicks one counts
    send();
  }, { class: "main" });
  return [
    heading(say("review_title")),
    h("p", say("review_text")),
    h("dl.card", ...rows),
    h("h2", say("then_title")),
    list("ol", [say("then_draw"), say("then_forget"), say("then_send")]),
    h("p", say("then_final")),
    !lasting && h("p.warning", say("memory_before")),
    h("div.buttons", sending, button("back", back)),
  ];
}

/** What an answer beyond the bounds counts as.
 * @type {(question: Question, answer: number | string) => Child} */
function beyond(question, answer) {
  const { low, high } = question.bounds;
  if (typeof answer === "string" || (low <= answer && answer <= high)) return null;
  const limit = question.shown(answer < low ? low : high);
  return h("p.quiet", say(answer < low ? "below_counts" : "above_counts", { limit }));
}

/** The upload, and what became of it; `told` says so when there is news.
 * @type {(scene: Scene, body: string, now: () => void) =>
 *   { nodes: Child[], told: (state: State) => void }} */
export function sent(scene, body, now) {
  const { reports } = JSON.parse(body);
  const [top, text, left] = [heading(""), h("p"), h("h2")];
  const panel = h("div.panel", { role: "status" }, top, text);
  const warning = h("p.warning", say("memory_after"));
  const again = button("send_now", now);
  const reload = button("reload", () => location.reload());
  const rows = scene.questions.map((question) => {
    const report = reports[question.name];
    const word = question.categories && question.shown(question.categories[report]);
    const values = { report: number(report), last: number(question.mechanism.outputs - 1) };
    const reads = word ? say("report_word", { ...values, word }) : say("report_number", values);
    return /** @type {[Child, Child]} */ ([spoken("span", question.asked), reads]);
  });
  const told = (/** @type {State} */ state) => {
    // Attempts are not announced one by one: screen readers read whatever changes.
    if (state === "sending" && panel.dataset.state === "waiting") return;
    if (panel.dataset.state === state) return;
    panel.dataset.state = state;
    const pending = state === "sending" || state === "waiting";
    top.textContent = say(`${state}_title`);
    text.textContent = say(`${state}_text`);
    left.textContent = say(pending ? "leaving" : "left");
    warning.hidden = scene.lasting || !pending;
    again.hidden = state !== "waiting";
    reload.hidden = state !== "changed";
  };
  const parts = ["part_reports", "part_receipt", "part_invitation", "part_survey"];
  const nodes = [
    panel,
    warning,
    again,
    reload,
    h("section.card",
      left,
      h("pre", body),
      table([say("question"), say("report")], rows),
      h("details", h("summary", say("parts")), list("ul", parts.map((key) => say(key))))),
    contact(scene),
  ];
  return { nodes, told };
}

/** Why there is nothing to answer here: a kind of stop, and a reason in English, if there is one.
 * @type {(why: string[], scene?: Scene) => Child[]} */
export const stopped = ([kind, reason], scene) => [
  heading(say(`${kind}_title`)),
  h("p", say(`${kind}_text`)),
  reason && h("p.quiet", { lang: "en" }, reason),
  ["load", "outdated"].includes(kind) && button("reload", () => location.reload()),
  scene && contact(scene),
];
