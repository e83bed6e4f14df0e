// @ts-check
/**
 * The page on which somebody answers a survey: questions, a look at the answers, one upload.
 *
 * Answers live in this tab's memory until the report is drawn. They are in no request, no storage
 * and no address.
 *
 * @typedef {import("./words.js").Words} Words
 * @typedef {import("./views.js").Scene} Scene
 */

import { privatize } from "./device.js";
import { Question } from "./questions.js";
import { base64url, groupsIn, Kept, Sender } from "./upload.js";
import * as views from "./views.js";
import * as words from "./words.js";

/** Of the protocol. */
const VERSION = 1;
/** Milliseconds to wait for the survey, before the first question and before the draw. */
const PATIENCE = 15_000;
const PATIENCE_BEFORE_DRAW = 4_000;

const main = /** @type {HTMLElement} */ (document.querySelector("main"));
const top = /** @type {HTMLElement} */ (document.getElementById("languages"));

/** The survey, as the collector describes it. @type {(patience: number) => Promise<Record<string, any>>} */
async function fetchSurvey(patience) {
  const signal = AbortSignal.timeout(patience);
  const reply = await fetch("./survey.json", { credentials: "omit", cache: "no-store", signal });
  if (!reply.ok) throw new Error("There is no survey.");
  return reply.json();
}

/** Show a view. Its heading gets the focus, unless the page has just been opened.
 * @type {(nodes: Node[], moved?: boolean) => void} */
function show(nodes, moved = true) {
  main.replaceChildren(...nodes);
  if (!moved) return;
  scrollTo(0, 0);
  main.querySelector("h1")?.focus({ preventScroll: true });
}

class Page {
  /** @param {Scene} scene @param {Kept} kept @param {string | null} token
   * @param {words.Choice[]} offered */
  constructor(scene, kept, token, offered) {
    this.scene = scene;
    this.kept = kept;
    this.token = token;
    this.offered = offered;
    this.step = "form";
    /** @type {import("./upload.js").State} */
    this.state = "sending";
    /** @type {((state: import("./upload.js").State) => void) | null} */
    this.told = null;
    this.sender = new Sender(kept, (state) => {
      this.state = state;
      this.told?.(state);
    });
  }

  /** Show the step that was asked for, or the upload, once there is one.
   * @param {string} step */
  go(step, moved = true) {
    const upload = this.kept.read();
    if (upload) return this.showUpload(upload.body, moved);
    if (this.scene.survey.closed) return this.stop("closed", moved);
    const { language } = this.scene.words;
    const complete = this.scene.questions.every((each) => "answer" in each.read(language));
    this.step = step === "review" && complete ? "review" : "form";
    this.scene.lasting = this.kept.lasting;
    const nodes =
      this.step === "review"
        ? views.review(this.scene, () => this.draw(), () => history.back())
        : views.form(this.scene, () => this.check());
    show(nodes, moved);
  }

  /** From the questions to the look at the answers; the browser's back button leads back. */
  check() {
    history.pushState({ step: "review" }, "");
    this.go("review");
  }

  /** Draw the reports, once; keep them; forget the answers; send. */
  async draw() {
    const { survey } = this.scene;
    // Nothing should be drawn for a survey that has ended or changed. Who is offline goes on.
    const now = await fetchSurvey(PATIENCE_BEFORE_DRAW).catch(() => survey);
    const same = now.survey === survey.survey && now.wording === survey.wording;
    if (!this.kept.read()) {
      if (!same) return this.stop("changed_before");
      if (now.closed) return this.stop("closed");
    }
    await this.kept.once(() => this.upload());
    history.replaceState({ step: "sent" }, "");
    this.go("sent");
  }

  /** A new upload: the only place where answers meet randomness. */
  upload() {
    const { survey, questions, words } = this.scene;
    // First, so that it does not depend on how many random words the reports take.
    const receipt = base64url(crypto.getRandomValues(new Uint8Array(16)));
    const reports = questions.map((question) => {
      const found = question.read(words.language);
      if (!("answer" in found)) throw new Error("An answer is missing.");
      return [question.name, privatize(question.mechanism, found.answer)];
    });
    return JSON.stringify({
      version: VERSION,
      survey: survey.survey,
      wording: survey.wording,
      invitation: this.token,
      receipt,
      reports: Object.fromEntries(reports),
    });
  }

  /** @param {string} body @param {boolean} moved */
  showUpload(body, moved) {
    for (const question of this.scene.questions) question.forget();
    this.step = "sent";
    this.scene.lasting = this.kept.lasting;
    const { nodes, told } = views.sent(this.scene, body, () => this.sender.now());
    this.told = told;
    told(this.state);
    show(nodes, moved);
    this.sender.now();
  }

  /** @param {string} language */
  async speak(language) {
    const choice = this.offered.find((each) => each.language === language);
    if (!choice || language === this.scene.words.language) return;
    const before = this.scene.words.language;
    this.scene.words = await words.load(choice);
    words.remember(language);
    for (const question of this.scene.questions) question.translate(before, this.scene.words);
    this.dress();
    /** @type {HTMLElement | null} */ (top.querySelector("[aria-pressed=true]"))?.focus();
    this.go(this.step, false);
  }

  /** Language, title and switch, which are around every view. */
  dress() {
    const spoken = this.scene.words;
    document.documentElement.lang = spoken.language;
    document.title = views.title(this.scene).text;
    if (this.offered.length < 2) return;
    const offered = this.offered.map(({ language }) => language);
    const pick = (/** @type {string} */ language) => this.speak(language);
    top.replaceChildren(views.languages(offered, spoken, words.named, pick));
  }

  /** @param {string} kind */
  stop(kind, moved = true) {
    show(views.stopped(this.scene.words, kind, this.scene), moved);
  }

  /** Whatever may happen around the page: other tabs, the way back, the network. */
  listen() {
    addEventListener("popstate", () => this.go(history.state?.step ?? "form"));
    addEventListener("hashchange", () => {
      if (this.token !== null && location.hash.slice(1) !== this.token) location.reload();
    });
    addEventListener("pageshow", (event) => {
      if (event.persisted) this.go(this.step, false);
    });
    addEventListener("storage", () => {
      if (this.step !== "sent" && this.kept.read()) this.go("sent");
      else this.sender.now();
    });
    addEventListener("online", () => this.sender.now());
    addEventListener("beforeunload", (event) => {
      const pending = this.step === "sent" && ["sending", "waiting"].includes(this.state);
      if (pending && !this.kept.lasting) event.preventDefault();
    });
  }
}

/** Open the page, or say why there is nothing to answer. */
async function open() {
  let spoken = await words.load(words.browsers());
  document.documentElement.lang = spoken.language;
  const stop = (/** @type {string} */ kind, /** @type {Scene | null} */ scene = null, reason = "") =>
    show(views.stopped(spoken, kind, scene, reason), false);
  if (!isSecureContext) return stop("insecure");
  const survey = await fetchSurvey(PATIENCE).catch(() => null);
  if (!survey) return stop("load");
  if (survey.confide !== "survey" || survey.version !== VERSION) return stop("version");

  const offered = words.choices(/** @type {any} */ (survey));
  const choice = words.preferred(offered);
  if (choice.language !== spoken.language) spoken = await words.load(choice);
  /** @type {Scene} */
  const scene = { words: spoken, survey, questions: [], groups: [], lasting: true };
  const token = survey.invited ? location.hash.slice(1) : null;
  const page = new Page(scene, await Kept.of(/** @type {any} */ (survey), token), token, offered);
  page.dress();
  if (token === "") return stop("uninvited", scene);
  const groups = token === null ? [] : groupsIn(token);
  const whole = groups && (token === null || groups.length === survey.groups.length);
  if (!whole) return stop("torn", scene);
  scene.groups = groups;
  try {
    scene.questions = survey.questions.map(
      (/** @type {any} */ fields, /** @type {number} */ at) => new Question(fields, survey.language, at),
    );
  } catch (error) {
    return stop("device", scene, error instanceof Error ? error.message : "");
  }
  page.listen();
  history.replaceState(null, "");
  page.go("form", false);
}

open();
