// @ts-check
/**
 * A card for the pairs of questions that people were asked for: how the answers go together.
 *
 * @typedef {import("./api.js").State} State
 * @typedef {import("./api.js").Relation} Relation
 */

import { el, fill, percentage, stacked, table } from "./cards.js";
import { whole } from "./digits.js";

const WIDE = 200;
const SVG = "http://www.w3.org/2000/svg";

/** An interval on a line from -1 to 1. @type {(one: Relation) => Node} */
function strip({ low, high, correlation }) {
  const picture = document.createElementNS(SVG, "svg");
  const place = (/** @type {number} */ value) => (WIDE - 16) * (value + 1) / 2 + 8;
  picture.setAttribute("viewBox", `0 0 ${WIDE} 16`);
  picture.setAttribute("class", "strip all");
  picture.setAttribute("aria-hidden", "true");
  for (const [tag, keys] of /** @type {[string, Record<string, string | number>][]} */ ([
    ["path", { class: "scale", d: `M${place(-1)} 8H${place(1)}M${place(0)} 2v12` }],
    ["path", { class: "between", d: `M${place(low)} 8H${place(high)}` }],
    ["circle", { class: "point", cx: place(correlation), cy: 8, r: 4.5 }],
  ])) {
    const part = document.createElementNS(SVG, tag);
    for (const [key, value] of Object.entries(keys)) part.setAttribute(key, String(value));
    picture.append(part);
  }
  return picture;
}

/** Correlations never look surer than they are: two digits. @type {(value: number) => string} */
const digits = (value) => (Math.round(100 * value) / 100 + 0).toFixed(2);

/** All pairs on the page. */
export class Relations {
  /** @param {State} state */
  constructor(state) {
    this.texts = Object.fromEntries(state.questions.map(({ name, text }) => [name, text]));
    this.table = el("div", { class: "table stacked", role: "group", "aria-label": "Table: how two answers go together" });
    this.element = el(
      "section", { class: "card question relations" },
      el("h2", {}, "How two answers go together"),
      el("p", { class: "quiet" }, "Each of these people sent one noisy report about two answers, and no other. A correlation near 1: where one answer is high, so is the other; near -1: where one is high, the other is low; near 0: neither tells much about the other."),
      this.table,
    );
  }

  /** @param {State} state @param {Relation[]} found @param {number} level */
  update({ pairs }, found, level) {
    const rows = pairs.map(({ questions, invited }) => {
      const [one, other] = questions;
      const name = `${this.texts[one]} & ${this.texts[other]}`;
      const relation = found.find((each) => each.questions[0] === one && each.questions[1] === other);
      const reports = `${whole(relation?.n ?? 0)} of ${whole(invited)}`;
      return relation
        ? [name, stacked({ ...relation, name, estimate: relation.correlation }, digits), strip(relation), reports]
        : [name, "not enough reports yet", "", reports];
    });
    const head = ["Pair", `Correlation, ${percentage(level)} interval`, "From -1 to 1", "Reports"];
    fill(this.table, table("How two answers go together", head, rows));
  }
}
