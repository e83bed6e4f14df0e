/** The page on which somebody answers: questions, a review, one upload. Answers are in this
 * tab's memory until the report is drawn. @import * as T from "./types.d.ts" */

import { privatize } from "./device.js";
import { Pair } from "./pairs.js";
import { Question } from "./questions.js";
import { base64url, bytesIn, factsIn, Kept, Sender } from "./upload.js";
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

/** The survey in the phase of a person; null where that has not begun. @param {any} served
 * @param {T.Facts | null} facts */
const inPhase = (served, facts) => (facts?.p === 2 ? served.next && { ...served, ...served.next } : served);

/** How many questions are asked, and what each costs. @param {any} survey */
const costs = ({ ask, questions }) =>
  JSON.stringify([ask, ...questions.map((/** @type {T.Fields} */ { name, mechanism }) => [name, mechanism.epsilon])]);

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

  /** @param {T.Scene} scene @param {Kept} kept @param {T.Token} token @param {T.Facts | null} facts
   * @param {T.Choice[]} offered */
  constructor(scene, kept, token, facts, offered) {
    this.scene = scene;
    this.kept = kept;
    this.token = token;
    this.facts = facts;
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
    const { survey, questions } = this.scene;
    // Those that were reviewed: on the way back they can be edited until something is drawn.
    const answers = Object.fromEntries(questions.map((question) => {
      const found = question.read();
      if (!("answer" in found)) throw new Error("An answer is missing.");
      return [question.fields.name, found.answer];
    }));
    // Nothing is drawn for a survey that has ended or changed. A device that is offline goes on.
    const now = await fetchSurvey(4).then((served) => inPhase(served, this.facts) ?? {}, () => survey);
    survey.closed = now.closed;
    if (!this.kept.read()) {
      if (now.wording !== survey.wording) this.stopped = ["outdated"];
      else if (!now.closed) await this.kept.once(() => this.upload(answers));
    }
    history.replaceState("sent", "");
    this.go("sent");
  }

  /** A new upload: the only place where answers meet randomness. @param {T.Keys} answers */
  upload(answers) {
    const { survey, questions, pair } = this.scene;
    // First, so that it does not depend on how many random words the reports take.
    const receipt = base64url(crypto.getRandomValues(new Uint8Array(16)));
    const reports = pair
      ? [[pair.name, privatize(pair.mechanism, answers)]]
      : questions.map(({ fields: { name }, mechanism }) => [name, privatize(mechanism, answers[name])]);
    return JSON.stringify({
      version: VERSION,
      survey: survey.survey,
      wording: survey.wording,
      // In the one spelling that is taken.
      invitation: this.token && base64url(bytesIn(this.token)),
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
  const served = await fetchSurvey(15).catch(() => null);
  if (!served) return show(views.stopped(["load"]));
  if (served.confide !== "survey" || served.version !== VERSION) return show(views.stopped(["version"]));

  const offered = words.choices(served.languages);
  const choice = words.preferred(offered);
  if (choice.language !== words.language) await words.speak(choice);
  const hash = location.hash.slice(1);
  const token = served.invited ? hash : null;
  const facts = token === null ? {} : factsIn(token);
  // A collector that asks for no invitation any more gets no second report for this one.
  const kept = await Kept.of(served, token ?? (factsIn(hash) && hash));
  const { g = [], q, p } = facts ?? {};
  const own = inPhase(served, facts);
  const survey = own ?? served;
  const groups = [g].flat();
  /** @type {T.Scene} */
  const scene = { survey, questions: [], groups, phase: p, lasting: true };
  const page = new Page(scene, kept, token, facts, offered);
  /** @type {{ questions: T.Fields[], pairs?: T.Both[] }} */
  const { questions: every, pairs = [] } = survey;
  const places = q ? [q].flat() : [...every.keys()];
  const pair = pairs.find((_, at) => places.length === 1 && places[0] === every.length + at);
  const asked = every.filter((_, at) => places.includes(at));
  // Each once, as many as a person is asked; or a pair.
  const wanted = survey.ask ?? every.length;
  const all = [asked, places].every(({ length }) => length === wanted);
  const phased = served.phases ? p === 1 || p === 2 : p === undefined;
  const right = phased && (pair || (all && !(survey.ask || pairs.length) === !q));
  if (token === "") page.stopped = ["uninvited"];
  else if (!facts || !right || (token && groups.length !== survey.groups.length))
    page.stopped = ["torn"];
  else if (!own) page.stopped = ["early"];
  else
    try {
      if (costs(served) !== costs(survey)) throw new Error("The second phase asks something else.");
      if (served.phases && pairs.length) throw new Error("A survey with phases must have no pairs.");
      // Answers are drawn by name: an answer to another question may be none to this one.
      if (new Set(every.map(({ name }) => `${name}`)).size < every.length)
        throw new Error("Each question must have a name of its own.");
      const names = pair?.mechanism.parts.map(({ name }) => name);
      const shown = names ? names.flatMap((name) => every.filter((each) => each.name === name)) : asked;
      scene.questions = shown.map((each, at) => new Question(each, survey.language, at));
      scene.pair = pair && new Pair(pair, scene.questions);
    } catch (error) {
      page.stopped = ["device", String(error)]; // the device checks what it is asked to do
    }
  page.dress();
  page.listen();
  history.replaceState("form", "");
  page.go("form", false);
}

open();
