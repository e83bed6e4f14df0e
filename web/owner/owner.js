// @ts-check
/**
 * The dashboard: asks its server every two seconds how far the survey has come, and shows it.
 *
 * @typedef {import("./api.js").State} State
 * @typedef {import("./api.js").Latest} Latest
 */

import * as api from "./api.js";
import { Card, el } from "./cards.js";
import { percent, whole } from "./digits.js";
import { Relations } from "./relations.js";

/** Milliseconds between two looks; when nobody sees the page; and at most when nobody answers. */
const EVERY = 2000, HIDDEN = 20_000, LONGEST = 30_000;

/** @type {(id: string) => HTMLElement} */
const by = (id) => /** @type {HTMLElement} */ (document.getElementById(id));

/** @type {State | null} */
let state = null;
/** @type {Latest | null} */
let latest = null;
/** @type {Map<string, Card>} */
const cards = new Map();
/** @type {Relations | null} */
let relations = null;
let grouping = "";
let failures = 0;
let timer = 0;

/** Say one thing on top of the page; nothing where it is empty. @param {string} text */
function notice(text) {
  if (by("notice").textContent === text) return;
  by("notice").textContent = text;
  by("notice").hidden = !text;
}

/** Look once, show it, and come again. */
async function look() {
  clearTimeout(timer);
  let wait = document.hidden ? HIDDEN : EVERY;
  try {
    const [now, found] = await Promise.all([api.state(), api.latest(latest?.number ?? 0)]);
    state = now;
    latest = { ...found, results: found.results ?? latest?.results ?? null };
    failures = 0;
    notice("");
    show();
  } catch (error) {
    if (error instanceof api.Refusal && [401, 403, 421].includes(error.status)) {
      // Asking again would change nothing.
      by("dashboard").hidden = true;
      notice(error.message);
      return;
    }
    failures += 1;
    wait = Math.max(wait, Math.min(LONGEST, EVERY * 2 ** (failures - 1)));
    notice(error instanceof api.Refusal ? error.message
      : `The server does not answer. The next try is in ${Math.round(wait / 1000)} seconds.`);
  }
  clearTimeout(timer);
  timer = setTimeout(look, wait);
}

/** Show everything that is known. */
function show() {
  if (!state || !latest) return;
  by("dashboard").hidden = false;
  document.title = `${state.answered ? `${whole(state.answered)} · ` : ""}${state.title || "Dashboard"}`;
  by("title").textContent = state.title || "Survey without a title";
  by("title").lang = state.language;
  reach(state);
  pulse(state, latest);
  switches(state);
  for (const asked of state.questions) {
    if (!cards.has(asked.name)) {
      const card = new Card(asked, state.language);
      cards.set(asked.name, card);
      by("questions").append(card.element);
    }
  }
  const { questions, relations: found = [], level = 0.95 } = latest.results ?? { questions: [] };
  for (const result of questions) cards.get(result.question)?.update(result, grouping, level);
  if (state.pairs.length && !relations) {
    relations = new Relations(state);
    by("questions").append(relations.element);
  }
  relations?.update(state, found, level);
  explain(state);
}

/** How many have answered. @param {State} state */
function reach(state) {
  by("answered").textContent = whole(state.answered);
  const people = state.answered === 1 ? "person has" : "people have";
  by("of").textContent = state.invited === null ? `${people} answered` : `of ${whole(state.invited)} invited have answered`;
  by("bar").hidden = state.rate === null;
  meter(by("bar"), state.rate ?? 0, "Share of the invited who have answered");
  by("deadline").textContent = deadline(state);
  const rows = state.groups.filter((one) => one.of.length > 0).map((one) => el(
    "div", {},
    el("h2", {}, `By ${one.by}`),
    el("ul", {}, ...one.of.map(({ group, invited, answered }) => {
      const share = invited ? Math.min(answered / invited, 1) : 0;
      const line = el("div", { class: "progress thin" });
      if (invited) meter(line, share, `Share of ${group} who have answered`);
      return el("li", {}, el("span", {}, group), el("span", { class: "quiet" }, invited ? `${whole(answered)} of ${whole(invited)}` : whole(answered)), line);
    })),
  ));
  const text = rows.map((row) => row.textContent).join();
  if (by("reached").dataset.shown !== text) {
    by("reached").dataset.shown = text;
    by("reached").replaceChildren(...rows);
  }
}

/** A share of people who answered, in print: rounded down, so that all have answered when all have.
 * @type {(share: number) => string} */
const rated = (share) => percent(Math.floor(1000 * share + 1e-9) / 1000);

/** A bar that is filled so far. @param {HTMLElement} host @param {number} share @param {string} name */
function meter(host, share, name) {
  host.setAttribute("role", "progressbar");
  host.setAttribute("aria-label", name);
  host.setAttribute("aria-valuemin", "0");
  host.setAttribute("aria-valuemax", "100");
  host.setAttribute("aria-valuenow", String(Math.round(100 * share)));
  host.setAttribute("aria-valuetext", rated(share));
  const svg = "http://www.w3.org/2000/svg";
  let box = host.querySelector("svg");
  if (!box) {
    box = document.createElementNS(svg, "svg");
    box.setAttribute("viewBox", "0 0 100 1");
    box.setAttribute("preserveAspectRatio", "none");
    box.setAttribute("aria-hidden", "true");
    box.append(document.createElementNS(svg, "rect"));
    host.replaceChildren(box);
  }
  const bar = /** @type {SVGRectElement} */ (box.firstElementChild);
  bar.setAttribute("height", "1");
  bar.setAttribute("width", String(Math.round(10_000 * share) / 100));
}

/** How long the survey still runs, and who has not answered. @type {(state: State) => string} */
function deadline({ closed, closes, now, phases, rate, waiting }) {
  const parts = rate === null ? [] : [`${rated(rate)} response rate`];
  if (waiting) parts.push(`${whole(waiting)} ${waiting === 1 ? "has" : "have"} not answered${closed ? "" : " yet"}`);
  if (phases) parts.push(phase(phases, now));
  if (closed) parts.push("the survey has ended");
  else if (closes) {
    const minutes = Math.floor((Date.parse(closes) - Date.parse(now)) / 60_000);
    parts.push(minutes < 0 ? "the deadline has passed" : `closes in ${lasting(minutes)}`);
  } else parts.push("no deadline");
  const text = parts.join(" · ");
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** How far the phases have come. @type {(phases: NonNullable<State["phases"]>, now: string) => string} */
function phase({ now: which, after, until, of }, now) {
  const [first, second] = of.map(({ invited, answered }) => `${whole(answered)} of ${whole(invited)}`);
  if (which === 2) return `second phase: ${second} have answered, and ${first} in the first`;
  const minutes = until ? Math.floor((Date.parse(until) - Date.parse(now)) / 60_000) : -1;
  const ends = [after && `after ${whole(after)}`, minutes >= 0 && `in ${lasting(minutes)}`].filter(Boolean);
  return `first phase: ${first} have answered, and it ends ${ends.join(" or ") || "now"}`;
}

/** A time in words: its two largest units. @type {(minutes: number) => string} */
function lasting(minutes) {
  const units = /** @type {[number, string][]} */ ([
    [Math.floor(minutes / 1440), "day"], [Math.floor(minutes / 60) % 24, "hour"], [minutes % 60, "minute"],
  ]);
  const first = units.findIndex(([n]) => n > 0);
  if (first < 0) return "less than a minute";
  return units.slice(first, first + 2).filter(([n]) => n > 0)
    .map(([n, unit]) => `${whole(n)} ${unit}${n === 1 ? "" : "s"}`).join(" ");
}

/** Whether this is the last word, and what it was made from. @param {State} state @param {Latest} latest */
function pulse(state, latest) {
  const final = latest.final;
  by("badge").textContent = final ? "Final" : "Provisional";
  by("badge").classList.toggle("final", final);
  const newer = state.answered - latest.reports;
  by("pulse").classList.toggle("busy", latest.estimating);
  by("pulse").textContent = !latest.number ? "The first estimate is being made"
    : newer > 0 ? `Estimated from ${whole(latest.reports)} reports, ${whole(newer)} newer on their way`
      : `Estimated from all ${whole(latest.reports)} reports`;
  by("caution").textContent = latest.fault || (final ? "" : state.closed ? "The survey has ended. The final estimate is being made." : "Results change until the survey closes. Fix the end beforehand: stopping when a result looks good makes the intervals miss more often than they say."
    + (latest.quick && latest.number ? " While reports come in, intervals are made quickly and may be wider than they will be in the end." : ""));
}

/** Buttons that choose whom to compare. @param {State} state */
function switches(state) {
  const columns = state.groups.filter((one) => one.of.length > 0).map((one) => one.by);
  const host = by("switch");
  host.hidden = columns.length === 0;
  if (host.childElementCount) return;
  for (const column of columns.length ? ["", ...columns] : []) {
    const button = el("button", { type: "button", "aria-pressed": String(column === grouping) }, column ? `By ${column}` : "Everyone");
    button.addEventListener("click", () => {
      grouping = column;
      for (const other of host.children) other.setAttribute("aria-pressed", String(other === button));
      show();
    });
    host.append(button);
  }
}

/** What the buttons mean now. @param {State} state */
function explain(state) {
  by("export-told").textContent = state.closed
    ? "All noisy reports as a table, in a random order, for confide summarize and other programs."
    : "All noisy reports so far as a table. Wait until the survey has ended if you can: two exports, one before and one after a person answered, give away that person's noisy report.";
  by("export").textContent = state.closed ? "Export as Parquet" : "Export before the end…";
  by("close-told").textContent = state.closed
    ? "The survey has ended. Traces that could join an invitation to its report were erased."
    : "No more reports are taken, traces that could join an invitation to its report are erased, and the final estimate is made. This cannot be undone.";
  by("close").hidden = state.closed;
  by("page").hidden = !state.closed;
  by("footer").textContent = `Every answer was made noisy on the person's own device before it was sent, at a total privacy cost of epsilon ${state.epsilon.toPrecision(3).replace(/\.?0+$/, "")}. The server, this page and every export have noisy reports only.`;
}

/** Ask whether something is really meant; a word must be typed.
 * @type {(title: string, text: string, word: string, yes: string) => Promise<boolean>} */
function confirmed(title, text, word, yes) {
  const dialog = /** @type {HTMLDialogElement} */ (by("dialog"));
  const input = /** @type {HTMLInputElement} */ (by("dialog-word"));
  const go = /** @type {HTMLButtonElement} */ (by("dialog-yes"));
  by("dialog-title").textContent = title;
  by("dialog-text").textContent = text;
  by("dialog-label").textContent = `Type “${word}” to go on`;
  go.textContent = yes;
  input.value = "";
  go.disabled = true;
  return new Promise((resolve) => {
    const ended = new AbortController();
    const { signal } = ended;
    const end = (/** @type {boolean} */ meant) => {
      ended.abort();
      dialog.close();
      resolve(meant);
    };
    const right = () => input.value.trim() === word.trim();
    input.addEventListener("input", () => { go.disabled = !right(); }, { signal });
    input.addEventListener("keydown", (event) => { if (event.key === "Enter" && right()) end(true); }, { signal });
    go.addEventListener("click", () => end(true), { signal });
    by("dialog-no").addEventListener("click", () => end(false), { signal });
    dialog.addEventListener("cancel", () => end(false), { signal });
    dialog.showModal();
    input.focus();
  });
}

/** Do something for which a button was pressed, and say what came of it.
 * @type {(button: string, work: () => Promise<string>) => Promise<void>} */
async function perform(button, work) {
  const pressed = /** @type {HTMLButtonElement} */ (by(button));
  pressed.disabled = true;
  try {
    by("said").textContent = await work();
  } catch (error) {
    by("said").textContent = error instanceof api.Refusal ? error.message : "The server does not answer.";
  }
  pressed.disabled = false;
}

/** Have the browser save a file; what to say about it. @type {(blob: Blob, name: string) => string} */
function saved(blob, name) {
  const link = el("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
  return `Saved ${whole(blob.size)} bytes as ${name}.`;
}

by("export").addEventListener("click", () => perform("export", async () => {
  const early = !state?.closed;
  if (early && !await confirmed(
    "Export before the end?",
    "This export and a later one differ by the noisy reports of those who answered in between. If that is one person, both together give that person's report away, with its groups. The noise still protects the answer, but the report is no longer one among many.",
    "export", "Export anyway",
  )) return "";
  if (!state?.phases) return saved(await api.reports(early, false), "reports.parquet");
  // Each phase has lattices of its own, and so a file of its own.
  const said = [saved(await api.reports(early, false), "reports-1.parquet")];
  if (state.phases.now === 2) said.push(saved(await api.reports(early, true), "reports-2.parquet"));
  return said.join(" ");
}));

by("page").addEventListener("click", () => perform("page", async () => saved(await api.page(), "results.html")));

by("close").addEventListener("click", () => perform("close", async () => {
  if (!await confirmed(
    "Close the survey?",
    "Nobody can answer any more, and the survey cannot be opened again.",
    state?.title || "close", "Close for good",
  )) return "";
  const said = await api.close();
  look();
  return said;
}));

document.addEventListener("visibilitychange", () => { if (!document.hidden && state) look(); });
addEventListener("hashchange", () => { api.unlock(); look(); });
api.unlock();
look();
