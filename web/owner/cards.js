// @ts-check
/**
 * A card for each question: a picture, and a table with the same numbers.
 *
 * @typedef {import("./api.js").Asked} Asked
 * @typedef {import("./api.js").Result} Result
 * @typedef {import("./api.js").Quantity} Quantity
 * @typedef {import("./digits.js").Format} Format
 * @typedef {Result & { group: string | number }} Grouped
 */

import { percent, whole, within } from "./digits.js";
import { BarPicture, DensityPicture } from "./pictures.js";

/** Groups that are drawn: more colors nobody can tell apart. */
const DRAWN = 6;

/** A curve of fewer reports than so many times those that are needed has a shape that is mostly
 * assumed; see `confide.results.telling.ROUGH`. */
const ROUGH = 10;

/** An element with text or others inside. @type {<T extends keyof HTMLElementTagNameMap>(tag: T, keys: Record<string, string>, ...inner: (Node | string)[]) => HTMLElementTagNameMap[T]} */
export function el(tag, keys, ...inner) {
  const made = document.createElement(tag);
  for (const [key, value] of Object.entries(keys)) made.setAttribute(key, value);
  made.append(...inner);
  return made;
}

/** A table. Cells of the first column are headings of their rows.
 * @type {(caption: string, head: string[], rows: (Node | string)[][]) => HTMLTableElement} */
export function table(caption, head, rows) {
  return el(
    "table", {},
    el("caption", { class: "unseen" }, caption),
    el("thead", {}, el("tr", {}, ...head.map((text) => el("th", { scope: "col" }, text)))),
    el("tbody", {}, ...rows.map(([first, ...others]) =>
      el("tr", {}, el("th", { scope: "row" }, first), ...others.map((text) => el("td", {}, text))))),
  );
}

/** Put a table into its place; what does not fit can be reached with the keyboard.
 * @type {(place: HTMLElement, made: HTMLTableElement) => void} */
export function fill(place, made) {
  place.replaceChildren(made);
  if (place.scrollWidth > place.clientWidth) place.setAttribute("tabindex", "0");
  else place.removeAttribute("tabindex");
}

/** Half the smallest width of some intervals; a hundredth of the scale where there is none.
 * @type {(quantities: Quantity[], asked: Asked) => number} */
function spread(quantities, asked) {
  const widths = quantities.flatMap(({ low, high }) => (low !== null && high !== null && high > low ? [(high - low) / 2] : []));
  return Math.min(...widths, (asked.high - asked.low) / 100 * (widths.length ? Infinity : 1));
}

/** A range in print. @type {(one: Quantity, format: Format) => string} */
function range({ low, high }, format) {
  if (low === null || high === null) return "–";
  const ends = [format(low, Math.floor), format(high, Math.ceil)];
  // Quantiles of whole numbers may be known for sure.
  return ends[0] === ends[1] ? ends[0] : ends.join(" to ");
}

/** Formats of the quantities of a question, by name: quantiles of whole numbers are whole.
 * @type {(quantities: Quantity[], asked: Asked) => (name: string) => Format} */
function formats(quantities, asked) {
  return (name) => (asked.kind === "integer" && name !== "mean"
    ? whole
    : within(spread(quantities.filter((one) => one.name === name), asked)));
}

/** An estimate above its interval. @type {(one: Quantity, format: Format) => Node} */
export const stacked = (one, format) => el("span", {}, format(one.estimate ?? 0), el("small", {}, range(one, format)));

/** A word with a capital letter. @type {(text: string) => string} */
const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

/** One question on the page. */
export class Card {
  /** @param {Asked} asked @param {string} language */
  constructor(asked, language) {
    this.asked = asked;
    this.title = el("h2", { lang: language }, asked.text);
    this.facts = el("p", { class: "quiet" });
    this.declined = el("p", { class: "quiet", hidden: "" });
    this.alarm = el("p", { class: "alarm", hidden: "" });
    this.legend = el("ul", { class: "legend", hidden: "" });
    this.figure = el("div", { class: "figure" });
    this.rough = el("p", { class: "quiet", hidden: "" });
    this.empty = el("div", { class: "empty", hidden: "" });
    this.table = el("div", { class: "table", role: "group", "aria-label": `Table: ${asked.text}` });
    this.body = el("div", { class: "body" }, el("div", { class: "left" }, this.legend, this.figure, this.rough), this.table);
    this.element = el("section", { class: "card question" }, this.title, this.facts, this.declined, this.alarm, this.empty, this.body);
    const { low, high, scale, unit, kind } = asked;
    // Bars of whole numbers reach half a step beyond the bounds.
    const axis = kind === "integer" ? { low: low - 0.5, high: high + 0.5, scale: "whole", unit } : { low, high, scale, unit };
    this.picture = kind === "categories" ? new BarPicture(this.figure) : new DensityPicture(this.figure, axis);
    this.drawn = "";
  }

  /** @param {Result} result @param {string} by the public column to compare, "" for everybody @param {number} level */
  update(result, by, level) {
    const groups = result.groups.find((one) => one.by === by)?.of ?? [];
    const known = groups.filter((one) => one.curve !== null);
    const nothing = by ? known.length === 0 : result.curve === null;
    const n = by ? groups.reduce((sum, one) => sum + one.n, 0) : result.n;
    const { invited, unit, capped } = this.asked;
    this.facts.textContent = `${whole(n)} ${n === 1 ? "report" : "reports"}`
      + (invited && !by ? ` of ${whole(invited)} people who were asked` : "")
      + `${by ? `, by ${by}` : ""}${unit ? `, in ${unit}` : ""}${capped ? `. ${capped}` : ""}`;
    this.decline(by || nothing ? undefined : result.declined, level);
    this.alarm.hidden = result.plausible;
    this.alarm.textContent = "No answers at all could have given these reports: some may be forged. Do not rely on this estimate.";
    this.empty.hidden = !nothing;
    this.body.hidden = nothing;
    if (nothing) {
      this.wait(result, by ? "No group has enough reports for an estimate yet." : result.reason);
      return;
    }
    if (by) this.compare(groups, known, by, level);
    else if (this.picture instanceof DensityPicture) this.number(result, this.picture, level);
    else this.shares(result, this.picture, level);
  }

  /** Say where too few reports stand behind a curve to show its shape. @param {Result[]} results */
  shape(results) {
    const rough = results.filter(({ n, needed }) => n < ROUGH * needed);
    this.rough.hidden = rough.length === 0;
    this.rough.textContent = (results.length > 1 ? "Some of these curves have" : "This curve has")
      + " so few reports behind it that its shape comes mostly from the assumption that distributions are smooth:"
      + " do not read peaks or dips from it.";
  }

  /** Say how many preferred not to. @param {Quantity | undefined} share @param {number} level */
  decline(share, level) {
    this.declined.hidden = !share;
    if (!share) return;
    this.declined.textContent = `${percent(share.estimate ?? 0)} preferred not to say (${percentage(level)} interval ${range(share, percent)}). `
      + "All other figures are about those who answered.";
  }

  /** Say how many reports are missing. @param {Result} result @param {string} reason */
  wait(result, reason) {
    const share = Math.min(1, result.n / Math.max(result.needed, 1));
    const ring = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    ring.setAttribute("viewBox", "0 0 40 40");
    ring.setAttribute("class", "ring");
    ring.setAttribute("aria-hidden", "true");
    for (const [kind, length] of /** @type {[string, number][]} */ ([["rest", 1], ["done", share]])) {
      const circle = document.createElementNS("http://www.w3.org/2000/svg", "circle");
      for (const [key, value] of Object.entries({ class: kind, cx: 20, cy: 20, r: 16, pathLength: 1, "stroke-dasharray": `${length} 1`, transform: "rotate(-90 20 20)" })) {
        circle.setAttribute(key, String(value));
      }
      if (length > 0) ring.append(circle);
    }
    this.empty.replaceChildren(ring, el("p", {}, reason));
  }

  /** @param {Result} result @param {DensityPicture} picture @param {number} level */
  number(result, picture, level) {
    const { asked } = this;
    const unit = asked.unit ? ` ${asked.unit}` : "";
    const format = formats(result.quantities, asked);
    const named = Object.fromEntries(result.quantities.map((one) => [one.name, one]));
    const marks = /** @type {["median" | "mean", "diamond" | "circle"][]} */ ([["median", "diamond"], ["mean", "circle"]]).map(([name, shape]) => ({
      ...named[name], shape, look: name, estimate: named[name].estimate ?? 0, text: `${capital(name)} ${format(name)(named[name].estimate ?? 0)}`,
    }));
    const curve = /** @type {{ edges: number[][], masses: number[] }} */ (result.curve);
    const told = `Estimated distribution. ${marks.map((mark) => `${mark.text}${unit}, ${percentage(level)} interval ${range(mark, format(mark.name))}`).join("; ")}.`;
    this.legend.hidden = true;
    this.shape([result]);
    picture.update([{ name: "all", look: "all", edges: curve.edges[0], masses: curve.masses }], marks, told);
    const rows = result.quantities.map((one) => [capital(one.name), format(one.name)(one.estimate ?? 0), range(one, format(one.name))]);
    this.tabled(asked.text, ["Quantity", "Estimate", `${percentage(level)} interval`], rows);
  }

  /** @param {Result} result @param {BarPicture} picture @param {number} level */
  shares(result, picture, level) {
    this.legend.hidden = true;
    const bars = result.quantities.map((one) => this.bar(one, "", "all"));
    picture.update(bars, `Estimated shares. ${bars.map((bar) => `${bar.name}: ${bar.text}`).join("; ")}.`);
    const upTo = this.asked.ordered ? result.cumulative ?? [] : [];
    const rows = result.quantities.map((one, at) => [
      this.label(one.name),
      ...(upTo.length
        ? [stacked(one, percent), at < upTo.length - 1 ? stacked(upTo[at], percent) : percent(1)]
        : [percent(one.estimate ?? 0), range(one, percent)]),
    ]);
    const interval = `${percentage(level)} interval`;
    this.tabled(this.asked.text, ["Answer", ...(upTo.length ? [`Share, ${interval}`, "Up to this answer"] : ["Share", interval])], rows);
  }

  /** @param {Grouped[]} groups @param {Grouped[]} known @param {string} by @param {number} level */
  compare(groups, known, by, level) {
    const drawn = known.length > DRAWN
      ? known.filter((one) => [...known].sort((a, b) => b.n - a.n).slice(0, DRAWN).includes(one))
      : known;
    const looks = new Map(drawn.map((one, at) => [one.group, `g${at}`]));
    this.legend.hidden = false;
    this.legend.replaceChildren(
      ...drawn.map((one) => el("li", {}, el("span", { class: `swatch ${looks.get(one.group)}` }), String(one.group))),
      ...(drawn.length < known.length ? [el("li", { class: "quiet" }, `The ${DRAWN} largest of ${known.length} groups are drawn.`)] : []),
    );
    const missing = (/** @type {Grouped} */ one) => `from ${whole(one.needed)} reports on`;
    const declines = known.some((one) => one.declined);
    const declined = (/** @type {Grouped} */ one) => (declines ? [one.curve && one.declined ? stacked(one.declined, percent) : ""] : []);
    const last = declines ? ["Preferred not to say"] : [];
    if (this.picture instanceof DensityPicture) {
      const format = formats(known.flatMap((one) => one.quantities), this.asked);
      const find = (/** @type {Grouped} */ one, /** @type {string} */ name) => /** @type {Quantity} */ (one.quantities.find((each) => each.name === name));
      const series = drawn.map((one) => {
        const curve = /** @type {{ edges: number[][], masses: number[] }} */ (one.curve);
        return { name: String(one.group), look: looks.get(one.group) ?? "", edges: curve.edges[0], masses: curve.masses };
      });
      const marks = drawn.map((one) => {
        const median = find(one, "median");
        return { ...median, name: String(one.group), estimate: median.estimate ?? 0, shape: /** @type {"diamond"} */ ("diamond"), look: looks.get(one.group) ?? "", text: `${one.group}: ${format("median")(median.estimate ?? 0)}` };
      });
      const told = `Estimated distributions by ${by}, with medians. ${marks.map((mark) => `${mark.text}, ${percentage(level)} interval ${range(mark, format("median"))}`).join("; ")}.`;
      this.shape(drawn);
      this.picture.update(series, marks, told);
      const rows = groups.map((one) => [
        String(one.group), whole(one.n),
        ...(one.curve ? ["median", "mean"].map((name) => stacked(find(one, name), format(name))) : [missing(one), ""]),
        ...declined(one),
      ]);
      this.tabled(`${this.asked.text}, by ${by}`, [capital(by), "Reports", "Median", "Mean", ...last], rows, true);
    } else {
      const names = known[0].quantities.map((one) => one.name);
      const bars = names.flatMap((name, at) => drawn.map((one) => this.bar(one.quantities[at], String(one.group), looks.get(one.group) ?? "")));
      this.picture.update(bars, `Estimated shares by ${by}. ${bars.map((bar) => `${bar.name}, ${bar.group}: ${bar.text}`).join("; ")}.`);
      const rows = groups.map((one) => [
        String(one.group), whole(one.n),
        ...names.map((_, at) => {
          const found = one.quantities[at];
          return one.curve ? stacked(found, percent) : at ? "" : missing(one);
        }),
        ...declined(one),
      ]);
      this.tabled(`${this.asked.text}, by ${by}`, [capital(by), "Reports", ...names.map((name) => this.label(name)), ...last], rows, true);
    }
  }

  /** @param {Quantity} one @param {string} group @param {string} look */
  bar(one, group, look) {
    const text = `${percent(one.estimate ?? 0)}, from ${percent(one.low ?? 0, Math.floor)} to ${percent(one.high ?? 1, Math.ceil)}`;
    return { name: this.label(one.name), group, look, estimate: one.estimate ?? 0, low: one.low ?? 0, high: one.high ?? 1, text };
  }

  /** @param {string} category */
  label(category) {
    return this.asked.labels[category] ?? category;
  }

  /** @param {string} caption @param {string[]} head @param {(Node | string)[][]} rows @param {boolean} grouped */
  tabled(caption, head, rows, grouped = false) {
    // A table by group goes below the picture, where it has all the width.
    this.body.classList.toggle("stacked", grouped);
    fill(this.table, table(caption, head, rows));
  }
}

/** @type {(level: number) => string} */
export const percentage = (level) => `${Math.round(1000 * level) / 10}%`;
