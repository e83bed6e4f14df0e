/** What is on the screen at each step, as nodes. Texts become text nodes, never HTML.
 * @import * as T from "./types.d.ts" */

import { bound, date, language, named, say, textOf } from "./words.js";

/** An element, "tag.class". @type {T.Make} */
function h(kind, ...parts) {
  const [tag, ...classes] = kind.split(".");
  const space = /^(svg|path)$/.test(tag) ? "2000/svg" : "1999/xhtml";
  const made = /** @type {any} */ (document.createElementNS(`http://www.w3.org/${space}`, tag));
  made.classList.add(...classes);
  for (const part of parts)
    if (part instanceof Node || typeof part === "string") made.append(part);
    else
      for (const [key, value] of Object.entries(part || {}))
        if (typeof value === "function") made.addEventListener(key, value);
        else if (value !== false) made.setAttribute(key, value);
  return made;
}

/** A paragraph of the page. @type {T.Say} */
const p = (key, values, kind = "p") => h(kind, say(key, values));

/** A text of the survey, which may be in another language than the page. Whatever else came in its
 * place becomes text: an object would become attributes. @type {T.Speak} */
const spoken = (kind, { text, language: its }, keys) =>
  h(kind, keys, { lang: its !== language && its }, text && String(text));

/** The heading of a view gets the focus. @type {T.Head} */
const heading = (text) => h("h1", { tabindex: -1 }, text);

/** @type {T.Card} */
const card = (key, ...parts) => h("section.card", h("h2", say(key)), ...parts);

/** @type {T.List} */
const list = (kind, items) => h(kind, ...items.map((item) => item && h("li", item)));

/** @type {T.Button} */
const button = (key, click, kind = "button") => h(kind, { type: "button", click }, say(key));

/** @type {T.Own} */
const own = ({ survey }, key = "title") => textOf(survey, key, survey.language);

/** @type {T.Own} */
export function title(scene) {
  const found = own(scene);
  return found.text ? found : { text: say("untitled"), language };
}

/** Whom to ask. @type {T.Contact} */
function contact(scene) {
  const found = own(scene, "contact");
  const { text = "" } = found;
  const href = /^\S+@\S+\.\S+$/.test(text) && `mailto:${text}`;
  return text && h("p.quiet", say("contact"), " ", spoken(href ? "a" : "span", found, { href }));
}

/** The switch of languages. @type {T.Switch} */
export const languages = (offered, pick) =>
  h("div", { role: "group", "aria-label": say("languages") }, ...offered.map((each) => {
    const { language: lang } = each;
    return h("button", { lang, "aria-pressed": lang === language || "false", click: () => pick(each) }, named(lang));
  }));

/** Above this epsilon, noise hides almost nothing. */
const WEAK = 8;

/** What an epsilon means. @type {T.Meaning} */
const meaning = (key, epsilon, n = 1) =>
  say(key, { n, factor: bound(Math.exp(epsilon)), epsilon: bound(epsilon) }) +
  (epsilon > WEAK ? ` ${say("weak")}` : "");

/** A hundred people, some of them in color. @type {T.People} */
function people(some, key) {
  const dots = [...Array(100).keys()].map((at) => `M${6 * (at % 20) + 3} ${6 * Math.floor(at / 20) + 3}h0`);
  return h("figure",
    h("svg", { viewBox: "0 0 120 30", "aria-hidden": true },
      h("path.some", { d: dots.slice(0, some).join("") }),
      h("path", { d: dots.slice(some).join("") })),
    p(key, { n: some }, "figcaption"));
}

/** Odds of a question, from its law. @type {T.Odds} */
function protection(question) {
  const { odds: [same, other, n], categories, epsilon, offer, zoom } = question;
  const part = say(zoom ? "part_steps" : n === 33 || n === 34 ? "part_third" : "part_percent", { n });
  return h("details",
    p("protection", {}, "summary"),
    p(categories ? "odds_words" : "odds_number", { same, other, part }),
    zoom && p("finer", zoom),
    offer === "decline" && p("odds_decline", { same, other }),
    h("div.people", people(same, "people_same"), people(other, "people_other")),
    same < 95 && p("odds_so"),
    h("p.quiet", meaning("bound", epsilon)));
}

/** What one report says about two answers, and its odds. @type {T.Paired} */
function together(pair) {
  const { bit, declines, epsilon, odds: [same, other], questions } = pair;
  return card("pair_title",
    p(bit ? "pair_bit" : "pair_table"),
    list("ul", questions.map(({ asked }, at) => h("span", spoken("span", asked), ` – ${pair.classes(at)}`))),
    p("pair_odds", { same, other }),
    h("div.people", people(same, "pair_same"), people(other, "pair_other")),
    declines && p("pair_decline"),
    same < 95 && p("odds_so"),
    h("p.quiet", meaning("bound", epsilon)));
}

/** Browsers may send a text away to translate it: not what tells an answer. */
const OWN = { translate: "no" };

/** A box, a circle or a field. @type {T.Input} */
const input = (keys) => h("input", { autocomplete: "off", spellcheck: "false" }, keys);

/** A box or a circle with its label. @type {T.Labelled} */
const choice = (text, keys) => h("label.choice", input(keys), spoken("span", text));

/** @type {T.Entry} */
function numberEntry(question) {
  const { id, whole, bounds: { low } } = question;
  const echo = h("p.quiet.echo", OWN);
  const show = () => {
    const found = question.read();
    const read = "answer" in found && !question.skipped;
    echo.textContent = read ? say("reads", { answer: question.shown(found.answer).text }) : "";
    field.disabled = question.skipped;
  };
  const field = input({
    id,
    // The number pads of phones have no minus.
    inputmode: low < 0 ? "text" : whole ? "numeric" : "decimal",
    "aria-describedby": `${id}-help ${id}-bounds ${id}-unit ${id}-error`,
    input() {
      question.typed = field.value;
      show();
    },
  });
  const change = (/** @type {any} */ { target }) => {
    question.skipped = target.checked;
    show();
  };
  field.value = question.typed;
  show();
  const values = { low: question.limit("low"), high: question.limit("high") };
  return [
    h("p.quiet", { id: `${id}-bounds` }, `${say(whole ? "whole" : "range", values)} ${say("nearer", values)}`),
    h("p.error", { id: `${id}-error` }, OWN),
    h("div.entry", field, spoken("span", question.text("unit"), { id: `${id}-unit` })),
    echo,
    question.offer && choice(question.skip, { type: "checkbox", checked: question.skipped, change }),
  ];
}

/** @type {T.Entry} */
function wordEntry(question) {
  const { id, categories = [], offer } = question;
  const radio = (/** @type {string} */ typed, skipped = !typed) =>
    choice(skipped ? question.skip : question.shown(typed), {
      id: typed === categories[0] && id,
      type: "radio",
      name: id,
      checked: question.skipped === skipped && question.typed === typed,
      change: () => Object.assign(question, { typed, skipped }),
    });
  return [
    h("p.error", { id: `${id}-error` }),
    ...categories.map((each) => radio(each)),
    offer && radio(""),
  ];
}

/** A question, alone or of a pair. @type {T.Asked} */
function asked(question, at, all, alone) {
  const { id, categories } = question;
  const help = spoken("p.help", question.text("help"), { id: `${id}-help` });
  return h("div.card", { id: `${id}-card` },
    all > 1 && p("step", { n: at + 1, all }, "p.quiet.step"),
    categories
      ? h("fieldset", { "aria-describedby": `${id}-help ${id}-error` },
          h("legend", spoken("h2", question.asked)), help, ...wordEntry(question))
      : h("div", h("h2", spoken("label", question.asked, { for: id })), help, ...numberEntry(question)),
    alone && protection(question));
}

/** @type {T.Head} */
const byId = (id) => /** @type {any} */ (document.getElementById(id));

/** Say beside a question what is wrong, if anything is. @type {T.Check} */
function isWrong(question) {
  const { id } = question;
  const found = question.read();
  const wrong = "wrong" in found;
  byId(`${id}-error`).textContent = wrong ? found.wrong : "";
  byId(`${id}-card`).classList.toggle("wrong", wrong);
  byId(id).setAttribute("aria-invalid", `${wrong}`);
  return wrong;
}

/** All questions; `done` is called when every answer can be read. @type {T.View} */
export function form(scene, done) {
  const { survey, questions, groups, pair } = scene;
  const { invited, closes, questions: every } = survey;
  const facts = groups.map((value, at) => `${survey.groups[at]}: ${value}`).join(", ");
  const sum = pair?.epsilon ?? questions.reduce((total, { epsilon }) => total + epsilon, 0);
  const summary = h("div.card.summary", { role: "alert", tabindex: -1, hidden: true });
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    const wrong = questions.filter(isWrong);
    summary.hidden = !wrong.length;
    if (!wrong.length) return done();
    // No links to #fields: the address ends in the invitation.
    const jumps = wrong.map(({ id, asked }) =>
      h("button.link", { type: "button", click: () => byId(id).focus() }, OWN,
        spoken("span", asked), ` – ${byId(`${id}-error`).textContent}`));
    summary.replaceChildren(p("wrong_title", {}, "h2"), list("ul", jumps));
    summary.focus();
  };
  return [
    spoken("h1", title(scene), { tabindex: -1 }),
    sum > WEAK && p("weak", {}, "p.warning"),
    spoken("p.intro", own(scene, "intro")),
    closes && p("closes", { date: date(closes) }, "p.quiet"),
    contact(scene),
    card("who_title", p(pair ? "process_pair" : "process"), h("table", ...["you", "owner", "intruder", "reader"].map((who) =>
      h("tr", h("th", { scope: "row" }, say(`who_${who}`)), p(`sees_${who}`, {}, "td"))))),
    h("form", { novalidate: true, submit },
      summary,
      ...questions.map((each, at) => asked(each, at, questions.length, !pair)),
      pair ? together(pair) : questions.length > 1 && card("sum_title", h("p", meaning("sum", sum, questions.length))),
      card("open_title", list("ul", [
        say(invited ? "open_part" : "open_part_open"),
        facts && say("open_groups", { groups: facts }),
        pair ? say("open_pair") : questions.length < every.length && say("open_asked", { n: questions.length, all: every.length }),
        !!scene.phase && say("open_phase", { phase: scene.phase }),
        say("open_address"),
        say("open_again"),
        say("open_page"),
      ])),
      p("not_yet"),
      p("review", {}, "button.main")),
  ];
}

/** What was read, before anything is drawn. @type {T.View} */
export function review({ questions, pair, lasting }, send, back) {
  const rows = questions.flatMap((question) => {
    const { asked, bounds, skipped } = question;
    const found = question.read();
    if (!("answer" in found)) return [];
    const { answer } = found;
    const beyond = typeof answer === "number" && (answer < bounds.low ? "low" : answer > bounds.high && "high");
    return [
      spoken("dt", asked),
      h("dd", OWN,
        spoken("strong", skipped ? question.skip : question.shown(answer)),
        beyond && p("beyond", { limit: question.limit(beyond) }, "p.quiet")),
    ];
  });
  const sending = button("send", () => {
    sending.setAttribute("disabled", ""); // of two clicks one counts
    send();
  }, "button.main");
  return [
    heading(say("review_title")),
    p("not_yet"),
    h("dl.card", ...rows),
    p(pair ? "then_pair" : "then"),
    !lasting && p("memory", {}, "p.warning"),
    h("div.buttons", sending, button("back", back)),
  ];
}

/** The upload, and what became of it; `told` says so when there is news. @type {T.Sent} */
export function sent(scene, body, now) {
  const [top, text, below, left] = [heading(""), h("div"), h("div"), h("h2")];
  const panel = h("div.panel", { role: "status" }, top, text);
  /** @type {T.Told} */
  const told = (state) => {
    const before = panel.dataset.state;
    // Attempts are not announced one by one: screen readers read whatever changes.
    if (state === before || (state === "sending" && before === "waiting")) return;
    panel.dataset.state = state;
    top.textContent = say(`${state}_title`);
    const waiting = state === "waiting";
    const pending = waiting || state === "sending";
    text.replaceChildren(p(`${state}_text`), waiting && scene.lasting ? p("waiting_lasting") : "");
    left.textContent = say(pending ? "leaving" : "left");
    below.replaceChildren(
      pending && !scene.lasting ? p("memory", {}, "p.warning") : "",
      waiting ? button("send_now", now) : "",
      state === "changed" ? button("reload", () => location.reload()) : "");
  };
  const parts = ["reports", "receipt", "invitation", "survey"].map((key) => say(`part_${key}`));
  const nodes = [
    panel,
    below,
    h("section.card", left, h("pre", body), list("ul", parts)),
    contact(scene),
  ];
  return { nodes, told };
}

/** Why there is nothing to answer here: a kind of stop, and a reason in English, if there is one.
 * @type {T.Stopped} */
export const stopped = ([kind, reason], scene) => [
  heading(say(`${kind}_title`)),
  p(`${kind}_text`),
  kind === "early" && scene?.survey.phases.until && p("early_until", { date: date(scene.survey.phases.until) }),
  reason && h("p.quiet", { lang: "en" }, reason),
  ["load", "outdated", "early"].includes(kind) && button("reload", () => location.reload()),
  scene && contact(scene),
];
