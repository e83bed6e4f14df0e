/** The page on which somebody answers: questions, a review, one upload. Answers are in this
 * tab's memory until the report is drawn. @import * as T from "./types.d.ts" */

import { privatize } from "./device.js";
import { Question } from "./questions.js";
import { base64url, factsIn, Kept, Sender } from "./upload.js";
import * as views from "./views.js";
import * as words from "./words.js";

/** Of the protocol. */
const VERSION = 1;

/** @type {T.Head} */
const element = (selector) => /** @type {any} */ (document.querySelector(selector));

/** The survey, as the collector describes it. @param {number} seconds */
async function fetchSurvey(seconds) {
  const signal = AbortSignal.timeout(1000 * seconds);
  const reply = await fetch("./survey.json", { credentials: "omit", cache: "no-store", signal });
  if (!reply.ok) throw new Error("There is no survey.");
  return reply.json();
}

/** Show a view. Its heading gets the focus, unless the person has not moved on.
 * @type {T.Show} */
function show(nodes, moved = false) {
  element("main").replaceChildren(...nodes.filter((node) => node instanceof Node));
  if (!moved) return;
  scrollTo(0, 0);
  element("h1").focus({ preventScroll: true });
}

class Page {
  step = "form";
  /** Why nothing can be answered here, if so: a kind of stop, and a reason. @type {string[]} */
  stopped = [];
  /** What became of the upload, and how to say it. @type {T.State} */
  state = "sending";
  /** @type {T.Told} */
  told = () => {};

  /** @param {T.Scene} scene @param {Kept} kept @param {T.Token} token @param {T.Choice[]} offered */
  constructor(scene, kept, token, offered) {
    this.scene = scene;
    this.kept = kept;
    this.token = token;
    this.offered = offered;
    this.sender = new Sender(kept, (state) => this.told((this.state = state)));
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
    this.step = step === "review" && complete ? step : "form";
    const review = () => {
      history.pushState("review", ""); // the browser's back button leads back to the questions
      this.go("review");
    };
    if (this.step === "form") show(views.form(scene, review), moved);
    else show(views.review(scene, () => this.draw(), () => history.back()), moved);
  }

  /** Draw the reports, once; keep them; forget the answers; send. */
  async draw() {
    const { survey } = this.scene;
    // Nothing is drawn for a survey that has ended or changed. A device that is offline goes on.
    const now = await fetchSurvey(4).catch(() => survey);
    survey.closed = now.closed;
    if (!this.kept.read()) {
      if (now.wording !== survey.wording) this.stopped = ["outdated"];
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

  /** Title and switch of languages, which are around every view. */
  dress() {
    document.title = views.title(this.scene).text;
    if (this.offered.length > 1)
      element("header").replaceChildren(views.languages(this.offered, (choice) => this.speak(choice)));
  }

  /** @param {T.Choice} choice */
  async speak(choice) {
    const before = words.language;
    await words.speak(choice);
    for (const question of this.scene.questions) question.translate(before);
    this.dress();
    element("[aria-pressed=true]").focus();
    this.go(this.step, false);
  }

  /** Other tabs, the way back, the network. */
  listen() {
    addEventListener("popstate", () => this.go(history.state));
    addEventListener("hashchange", () => {
      if (this.token !== null && location.hash.slice(1) !== this.token) location.reload();
    });
    addEventListener("pageshow", ({ persisted }) => persisted && this.go(this.step, false));
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
  if (!isSecureContext) return show(views.stopped(["insecure"]));
  const survey = await fetchSurvey(15).catch(() => null);
  if (!survey) return show(views.stopped(["load"]));
  if (survey.confide !== "survey" || survey.version !== VERSION) return show(views.stopped(["version"]));

  const offered = words.choices(survey.languages);
  const choice = words.preferred(offered);
  if (choice.language !== words.language) await words.speak(choice);
  const hash = location.hash.slice(1);
  const token = survey.invited ? hash : null;
  const facts = token === null ? {} : factsIn(token);
  // A collector that asks for no invitation any more gets no second report for this one.
  const kept = await Kept.of(survey, token ?? (factsIn(hash) && hash));
  const { g = [], q } = facts ?? {};
  const groups = [g].flat();
  /** @type {T.Scene} */
  const scene = { survey, questions: [], groups, lasting: true };
  const page = new Page(scene, kept, token, offered);
  /** @type {T.Fields[]} */
  const every = survey.questions;
  // Each once, as many as a person is asked.
  const asked = every.filter((_, at) => !q || [q].flat().includes(at));
  const right = !survey.ask === !q && asked.length === (survey.ask ?? every.length);
  if (token === "") page.stopped = ["uninvited"];
  else if (!facts || !right || (token && groups.length !== survey.groups.length))
    page.stopped = ["torn"];
  else
    try {
      scene.questions = asked.map((each, at) => new Question(each, survey.language, at));
    } catch (error) {
      page.stopped = ["device", String(error)]; // the device checks what it is asked to do
    }
  page.dress();
  page.listen();
  history.replaceState("form", "");
  page.go("form", false);
}

open();
