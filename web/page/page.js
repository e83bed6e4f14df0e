// @ts-check
/**
 * The page on which somebody answers a survey: questions, a look at the answers, one upload.
 *
 * Answers live in this tab's memory until the report is drawn. They are in no request, no storage
 * and no address.
 * @import { Child, Choice, Scene, State } from "./types.d.ts"
 */

import { privatize } from "./device.js";
import { Question } from "./questions.js";
import { base64url, groupsIn, Kept, Sender } from "./upload.js";
import * as views from "./views.js";
import * as words from "./words.js";

/** Of the protocol. */
const VERSION = 1;

const main = /** @type {HTMLElement} */ (document.querySelector("main"));
const top = /** @type {HTMLElement} */ (document.querySelector("header"));

/** The survey, as the collector describes it. @type {(seconds: number) => Promise<any>} */
async function fetchSurvey(seconds) {
  const signal = AbortSignal.timeout(1000 * seconds);
  const reply = await fetch("./survey.json", { credentials: "omit", cache: "no-store", signal });
  if (!reply.ok) throw new Error("There is no survey.");
  return reply.json();
}

/** Show a view. Its heading gets the focus, unless the person has not moved on.
 * @type {(nodes: Child[], moved?: boolean) => void} */
function show(nodes, moved = true) {
  main.replaceChildren(...nodes.filter((node) => node instanceof Node));
  if (!moved) return;
  scrollTo(0, 0);
  main.querySelector("h1")?.focus({ preventScroll: true });
}

class Page {
  step = "form";
  /** @type {State} */
  state = "sending";
  /** Why nothing can be answered here, if so: a kind of stop, and a reason. @type {string[]} */
  stopped = [];
  /** Tells the view what became of the upload. @type {(state: State) => void} */
  told = () => {};

  /** @param {Scene} scene @param {Kept} kept @param {string | null} token
   * @param {Choice[]} offered */
  constructor(scene, kept, token, offered) {
    this.scene = scene;
    this.kept = kept;
    this.token = token;
    this.offered = offered;
    this.sender = new Sender(kept, (state) => {
      this.state = state;
      this.told(state);
    });
  }

  /** Prepare the questions; the device checks what it is asked to do. */
  ask() {
    const { survey } = this.scene;
    try {
      this.scene.questions = survey.questions.map(
        (/** @type {any} */ each, /** @type {number} */ at) => new Question(each, survey.language, at),
      );
    } catch (error) {
      this.stopped = ["device", error instanceof Error ? error.message : ""];
    }
  }

  /** Show the step that was asked for, or the upload, once there is one. @param {string} step */
  go(step, moved = true) {
    const { scene, kept } = this;
    const upload = kept.read();
    scene.lasting = kept.lasting;
    if (this.stopped.length) return show(views.stopped(this.stopped, scene), moved);
    if (upload) return this.showUpload(upload.body, moved);
    if (scene.survey.closed) return show(views.stopped(["closed"], scene), moved);
    const complete = scene.questions.every((question) => "answer" in question.read());
    this.step = step === "review" && complete ? "review" : "form";
    const nodes =
      this.step === "review"
        ? views.review(scene, () => this.draw(), () => history.back())
        : views.form(scene, () => this.check());
    show(nodes, moved);
  }

  /** From the questions to the look at the answers; the browser's back button leads back. */
  check() {
    history.pushState("review", "");
    this.go("review");
  }

  /** Draw the reports, once; keep them; forget the answers; send. */
  async draw() {
    const { survey } = this.scene;
    // Nothing is drawn for a survey that has ended or changed. A device that is offline goes on.
    const now = await fetchSurvey(4).catch(() => survey);
    survey.closed = now.closed;
    if (!this.kept.read()) {
      const same = now.survey === survey.survey && now.wording === survey.wording;
      if (!same) this.stopped = ["outdated"];
      else if (!now.closed) await this.kept.once(() => this.upload());
    }
    history.replaceState("sent", "");
    this.go("sent");
  }

  /** A new upload: the only place where answers meet randomness. */
  upload() {
    const { survey, questions } = this.scene;
    // First, so that it does not depend on how many random words the reports take.
    const receipt = base64url(crypto.getRandomValues(new Uint8Array(16)));
    const reports = questions.map((question) => {
      const found = question.read();
      if (!("answer" in found)) throw new Error("An answer is missing.");
      return [question.fields.name, privatize(question.mechanism, found.answer)];
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
    const { nodes, told } = views.sent(this.scene, body, () => this.sender.now());
    this.told = told;
    told(this.state);
    show(nodes, moved);
    this.sender.now();
  }

  /** Language, title and switch, which are around every view. */
  dress() {
    document.title = views.title(this.scene).text;
    if (this.offered.length < 2) return;
    const offered = this.offered.map(({ language }) => language);
    top.replaceChildren(views.languages(offered, (language) => this.speak(language)));
  }

  /** @param {string} language */
  async speak(language) {
    const choice = this.offered.find((each) => each.language === language);
    if (!choice) return;
    const before = words.language;
    await words.speak(choice);
    words.chosen(language);
    for (const question of this.scene.questions) question.translate(before);
    this.dress();
    /** @type {HTMLElement | null} */ (top.querySelector("[aria-pressed=true]"))?.focus();
    this.go(this.step, false);
  }

  /** Whatever may happen around the page: other tabs, the way back, the network. */
  listen() {
    addEventListener("popstate", () => this.go(history.state));
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
  await words.speak(words.preferred(words.choices(["en", ...navigator.languages])));
  if (!isSecureContext) return show(views.stopped(["insecure"]), false);
  const survey = await fetchSurvey(15).catch(() => null);
  if (!survey) return show(views.stopped(["load"]), false);
  if (survey.confide !== "survey" || survey.version !== VERSION)
    return show(views.stopped(["version"]), false);

  const offered = words.choices(survey.languages);
  await words.speak(words.preferred(offered));
  const token = survey.invited ? location.hash.slice(1) : null;
  const groups = token === null ? [] : groupsIn(token);
  const scene = { survey, questions: [], groups: groups ?? [], lasting: true };
  const page = new Page(scene, await Kept.of(survey, token), token, offered);
  if (token === "") page.stopped = ["uninvited"];
  else if (!groups || (token && groups.length !== survey.groups.length)) page.stopped = ["torn"];
  else page.ask();
  page.dress();
  page.listen();
  history.replaceState("form", "");
  page.go("form", false);
}

open();
