// @ts-check
/**
 * Pictures of results, drawn as SVG: a density with its mean and median, and bars of shares.
 *
 * They are drawn to the width that they have, so that letters keep their size, and move from one
 * estimate to the next. Colors come from the style sheet, by class.
 *
 * @typedef {object} Mark an estimate with its interval, in a row below the curve
 * @property {string} name
 * @property {string} text what is written beside it
 * @property {string} look the class of its color
 * @property {"diamond" | "circle"} shape
 * @property {number} estimate
 * @property {number | null} low
 * @property {number | null} high
 *
 * @typedef {object} Series one curve
 * @property {string} name
 * @property {string} look the class of its color
 * @property {number[]} edges of cells
 * @property {number[]} masses in cells
 *
 * @typedef {object} Axis
 * @property {number} low
 * @property {number} high
 * @property {string} scale linear or log; whole where values are whole numbers, shown as bars
 * @property {string} unit
 *
 * @typedef {object} Bar
 * @property {string} name of the category
 * @property {string} group or "" for everybody
 * @property {string} look
 * @property {number} estimate
 * @property {number} low
 * @property {number} high
 * @property {string} text what is written beside it
 */

import { percent, ticks, whole as wholly, within } from "./digits.js";

const SVG = "http://www.w3.org/2000/svg";
/** Points of a curve. */
const POINTS = 241;
/** Milliseconds that a change takes. */
const CHANGE = 800;

/** An element of SVG. @type {(tag: string, keys: Record<string, string | number>, ...inner: (Node | string)[]) => SVGElement} */
function node(tag, keys, ...inner) {
  const made = document.createElementNS(SVG, tag);
  for (const [key, value] of Object.entries(keys)) made.setAttribute(key, String(value));
  made.append(...inner);
  return made;
}

/** A coordinate with a tenth of a pixel. @type {(value: number) => number} */
const px = (value) => Math.round(value * 10) / 10;

/** Whether things may move. @type {() => boolean} */
const moving = () => !matchMedia("(prefers-reduced-motion: reduce)").matches;

/**
 * A picture that is drawn anew when its width or its numbers change.
 *
 * Numbers to show are an array; on their way to new ones all of them move together.
 */
class Picture {
  /** @param {HTMLElement} host where it goes */
  constructor(host) {
    this.svg = /** @type {SVGSVGElement} */ (node("svg", { role: "img", class: "picture" }));
    host.append(this.svg);
    this.width = 0;
    /** @type {number[]} */
    this.shown = [];
    /** @type {number[]} */
    this.wanted = [];
    this.frame = 0;
    new ResizeObserver(([entry]) => {
      const width = Math.round(entry.contentRect.width);
      if (width > 0 && width !== this.width) {
        this.width = width;
        this.paint();
      }
    }).observe(host);
  }

  /** Show other numbers. @param {number[]} numbers @param {number[]} before where they come from */
  show(numbers, before) {
    cancelAnimationFrame(this.frame);
    this.wanted = numbers;
    if (!moving() || before.length !== numbers.length || document.hidden) {
      this.shown = numbers;
      this.paint();
      return;
    }
    const start = performance.now();
    const step = (/** @type {number} */ now) => {
      const part = Math.min(1, Math.max(0, (now - start) / CHANGE));
      const eased = 1 - (1 - part) ** 3;
      this.shown = numbers.map((to, at) => before[at] + eased * (to - before[at]));
      this.paint();
      if (part < 1) this.frame = requestAnimationFrame(step);
    };
    this.frame = requestAnimationFrame(step);
  }

  /** Draw what is shown. */
  paint() {
    if (this.width > 0 && this.shown.length > 0) this.draw();
  }

  /** @param {number} height @param {Node[]} inner */
  fill(height, ...inner) {
    this.svg.setAttribute("viewBox", `0 0 ${this.width} ${px(height)}`);
    this.svg.setAttribute("height", String(px(height)));
    this.svg.replaceChildren(...inner);
  }

  draw() {}
}

/**
 * Heights of a curve at equal steps along the axis: through the middles of its cells, without
 * going above or below them (Fritsch and Carlson 1980).
 *
 * @type {(series: Series, axis: Axis) => number[]}
 */
export function heights(series, axis) {
  const place = placer(axis);
  const edges = series.edges.map(place);
  const x = [0], y = [series.masses[0] / (edges[1] - edges[0])];
  series.masses.forEach((mass, at) => {
    x.push((edges[at] + edges[at + 1]) / 2);
    y.push(mass / (edges[at + 1] - edges[at]));
  });
  x.push(1);
  y.push(y[y.length - 1]);
  const slopes = x.slice(1).map((to, at) => (y[at + 1] - y[at]) / Math.max(to - x[at], 1e-12));
  const tangents = x.map((_, at) => {
    if (at === 0 || at === x.length - 1) return 0;
    const [left, right] = [slopes[at - 1], slopes[at]];
    return left * right <= 0 ? 0 : (2 * left * right) / (left + right);
  });
  const found = [];
  let at = 0;
  for (let point = 0; point < POINTS; point++) {
    const t = point / (POINTS - 1);
    while (at < slopes.length - 1 && t > x[at + 1]) at++;
    const width = x[at + 1] - x[at];
    const u = width > 0 ? (t - x[at]) / width : 0;
    found.push(
      y[at] * (1 + 2 * u) * (1 - u) ** 2 + tangents[at] * width * u * (1 - u) ** 2
      + y[at + 1] * u * u * (3 - 2 * u) + tangents[at + 1] * width * u * u * (u - 1),
    );
  }
  return found;
}

/**
 * Where the line of a series runs, and how high: a curve, or the tops of bars, two points each.
 *
 * @type {(series: Series, axis: Axis) => { places: number[], heights: number[] }}
 */
export function outline(series, axis) {
  if (axis.scale !== "whole") {
    const found = heights(series, axis);
    return { places: found.map((_, at) => at / (POINTS - 1)), heights: found };
  }
  const edges = series.edges.map(placer(axis));
  return {
    places: series.masses.flatMap((_, at) => [edges[at], edges[at + 1]]),
    heights: series.masses.flatMap((mass, at) => Array(2).fill(mass / (edges[at + 1] - edges[at]))),
  };
}

/** Where a value lies along an axis, from 0 to 1. @type {(axis: Axis) => (value: number) => number} */
function placer({ low, high, scale }) {
  const by = scale === "log" ? Math.log : (/** @type {number} */ value) => value;
  return (value) => Math.min(1, Math.max(0, (by(value) - by(low)) / (by(high) - by(low))));
}

/** The value at a place. @type {(axis: Axis) => (place: number) => number} */
function valuer({ low, high, scale }) {
  if (scale === "log") return (place) => low * (high / low) ** place;
  return (place) => low + place * (high - low);
}

/** The share of people up to a value. @type {(series: Series, value: number) => number} */
function below(series, value) {
  let total = 0;
  for (let at = 0; at < series.masses.length; at++) {
    const [from, to] = [series.edges[at], series.edges[at + 1]];
    total += series.masses[at] * Math.min(1, Math.max(0, (value - from) / (to - from)));
  }
  return total;
}

/** A density, or one for each group. */
export class DensityPicture extends Picture {
  /** @param {HTMLElement} host @param {Axis} axis */
  constructor(host, axis) {
    super(host);
    this.axis = axis;
    /** @type {Series[]} */
    this.series = [];
    /** Where the line of each series runs. @type {number[][]} */
    this.places = [];
    /** @type {Mark[]} */
    this.marks = [];
    /** @type {number | null} */
    this.pointed = null;
    this.svg.addEventListener("pointermove", (event) => this.point(event));
    this.svg.addEventListener("pointerleave", () => this.point(null));
  }

  /** @param {Series[]} series @param {Mark[]} marks @param {string} told for those who cannot see */
  update(series, marks, told) {
    const place = placer(this.axis);
    const lines = series.map((one) => outline(one, this.axis));
    this.places = lines.map((line) => line.places);
    const curves = lines.map((line) => line.heights);
    const top = Math.max(...curves.flat(), 1e-9);
    const numbers = [top, ...curves.flat()];
    for (const mark of marks) {
      numbers.push(place(mark.estimate), place(mark.low ?? mark.estimate), place(mark.high ?? mark.estimate));
    }
    const known = this.series.map((one) => one.name).join("\n") === series.map((one) => one.name).join("\n");
    // New curves rise from the ground.
    const risen = [top, ...curves.flat().map(() => 0), ...numbers.slice(1 + curves.flat().length)];
    const before = known && this.shown.length === numbers.length ? this.shown : risen;
    this.series = series;
    this.marks = marks;
    this.svg.setAttribute("aria-label", told);
    this.show(numbers, before);
  }

  /** @param {PointerEvent | null} event */
  point(event) {
    if (this.series.length !== 1) return;
    const box = this.svg.getBoundingClientRect();
    this.pointed = event && Math.min(1, Math.max(0, (event.clientX - box.left - 1) / (box.width - 2)));
    this.paint();
  }

  draw() {
    const { width, axis, series, marks } = this;
    const whole = axis.scale === "whole";
    const tall = width < 480 ? 150 : 210;
    const row = 22, foot = 30, head = 22;
    const ground = head + tall;
    const bottom = ground + (marks.length ? marks.length * row + 8 : 0);
    const x = (/** @type {number} */ place) => px(1 + place * (width - 2));
    const [top, ...rest] = this.shown;
    const y = (/** @type {number} */ height) => px(ground - (height / top) * tall);
    const inner = [];
    const { places, format } = ticks(axis.low, axis.high, Math.max(2, Math.floor(width / 110)), axis.scale);
    const place = placer(axis);
    for (const at of places) {
      inner.push(node("line", { class: "grid", x1: x(place(at)), x2: x(place(at)), y1: head, y2: bottom }));
    }
    inner.push(node("line", { class: "ground", x1: 0, x2: width, y1: ground, y2: ground }));
    let drawn = 0;
    series.forEach((one, number) => {
      const places = this.places[number];
      const tops = rest.slice(drawn, (drawn += places.length)).map(y);
      const line = places.map((at, k) => `${x(at)},${tops[k]}`).join("L");
      const kinds = `${one.look} ${series.length > 1 ? "several" : "alone"}`;
      if (whole && series.length === 1) {
        // A gap between bars, where there is room for it.
        const gap = Math.min(3, (places[1] - places[0]) * width * 0.15);
        const bars = one.masses.map((_, k) =>
          `M${x(places[2 * k]) + gap / 2},${ground}V${tops[2 * k]}H${x(places[2 * k + 1]) - gap / 2}V${ground}Z`);
        inner.push(node("path", { class: `curve bars ${kinds}`, d: bars.join("") }));
        return;
      }
      inner.push(node("path", { class: `area ${kinds}`, d: `M${x(0)},${ground}L${line}L${x(1)},${ground}Z` }));
      inner.push(node("path", { class: `curve ${kinds}`, d: `M${line}` }));
    });
    const ends = rest.slice(drawn);
    marks.forEach((mark, number) => {
      const middle = px(ground + 8 + (number + 0.5) * row);
      const [at, low, high] = ends.slice(3 * number, 3 * number + 3).map(x);
      if (series.length === 1 && number === 0) {
        inner.push(node("rect", { class: `band ${mark.look}`, x: low, width: px(Math.max(high - low, 0)), y: head, height: px(middle - head) }));
        inner.push(node("line", { class: `plumb ${mark.look}`, x1: at, x2: at, y1: head, y2: middle }));
      }
      if (mark.low !== null) {
        inner.push(node("line", { class: `interval ${mark.look}`, x1: low, x2: high, y1: middle, y2: middle }));
        for (const end of [low, high]) {
          inner.push(node("line", { class: `interval ${mark.look}`, x1: end, x2: end, y1: middle - 4, y2: middle + 4 }));
        }
      }
      inner.push(mark.shape === "circle"
        ? node("circle", { class: `mark ${mark.look}`, cx: at, cy: middle, r: 5 })
        : node("path", { class: `mark ${mark.look}`, d: `M${at},${middle - 6.5}l6,6.5l-6,6.5l-6,-6.5Z` }));
      const room = width - high > mark.text.length * 7 + 16;
      inner.push(node("text", { class: "told", x: room ? high + 10 : low - 10, y: middle + 4.5, "text-anchor": room ? "start" : "end" }, mark.text));
    });
    inner.push(node("line", { class: "axis", x1: 0, x2: width, y1: bottom, y2: bottom }));
    // From right to left, so that the last one keeps its unit and none runs into the next.
    let free = Infinity;
    for (const at of [...places].reverse()) {
      const text = `${format(at)}${free === Infinity && axis.unit ? ` ${axis.unit}` : ""}`;
      const here = x(place(at)), wide = 7.5 * text.length;
      const anchor = here < wide / 2 ? "start" : here > width - wide / 2 ? "end" : "middle";
      const left = here - wide * { start: 0, middle: 0.5, end: 1 }[anchor];
      inner.push(node("line", { class: "axis", x1: here, x2: here, y1: bottom, y2: bottom + 5 }));
      if (left + wide + 8 > free) continue;
      inner.push(node("text", { class: "tick", x: here, y: bottom + 19, "text-anchor": anchor }, text));
      free = left;
    }
    if (this.pointed !== null && series.length === 1) {
      const here = x(this.pointed);
      const value = valuer(axis)(this.pointed);
      const unit = axis.unit ? ` ${axis.unit}` : "";
      const number = Math.min(Math.max(Math.round(value), Math.ceil(axis.low)), Math.floor(axis.high));
      const text = whole
        ? `about ${Math.round(100 * below(series[0], number + 0.5))}% have ${wholly(number)}${unit} or less`
        : `about ${Math.round(100 * below(series[0], value))}% below `
          + `${within(axis.scale === "log" ? value : (axis.high - axis.low) / 10)(value)}${unit}`;
      const anchor = here < 100 ? "start" : here > width - 100 ? "end" : "middle";
      inner.push(node("line", { class: "pointed", x1: here, x2: here, y1: head - 4, y2: ground }));
      inner.push(node("text", { class: "pointed", x: here, y: 12, "text-anchor": anchor }, text));
    }
    this.fill(bottom + foot, ...inner);
  }
}

/** Shares of categories, of everybody or of each group. */
export class BarPicture extends Picture {
  /** @param {HTMLElement} host */
  constructor(host) {
    super(host);
    /** @type {Bar[]} */
    this.bars = [];
  }

  /** @param {Bar[]} bars those of one category beside each other @param {string} told */
  update(bars, told) {
    const numbers = bars.flatMap((bar) => [bar.estimate, bar.low, bar.high]);
    const named = (/** @type {Bar[]} */ all) => all.map((bar) => `${bar.name}\n${bar.group}`).join("\n");
    const before = named(this.bars) === named(bars) ? this.shown : numbers.map(() => 0);
    this.bars = bars;
    this.svg.setAttribute("aria-label", told);
    this.show(numbers, before);
  }

  draw() {
    const { width, bars } = this;
    const several = bars.some((bar) => bar.group !== "");
    const thick = several ? 11 : 18, gap = several ? 5 : 0, side = 54;
    const x = (/** @type {number} */ share) => px(1 + share * (width - side - 2));
    const inner = /** @type {Node[]} */ ([]);
    let y = 4;
    bars.forEach((bar, number) => {
      const [share, low, high] = this.shown.slice(3 * number, 3 * number + 3);
      if (number === 0 || bars[number - 1].name !== bar.name) {
        if (number > 0) y += 14;
        const fits = Math.floor(width / 7.5);
        const name = bar.name.length > fits ? `${bar.name.slice(0, fits - 1)}…` : bar.name;
        inner.push(node("text", { class: "category", x: 0, y: y + 13 }, name));
        y += 22;
      }
      inner.push(node("rect", { class: "track", x: 1, y, width: px(width - side - 2), height: thick, rx: thick / 2 }));
      const length = px(Math.max(x(share) - 1, 2));
      inner.push(node("rect", { class: `bar ${bar.look}`, x: 1, y, width: length, height: thick, rx: Math.min(thick, length) / 2 }));
      const middle = px(y + thick / 2);
      for (const kind of ["halo", "error"]) {
        inner.push(node("path", { class: kind, d: `M${x(low)},${middle}H${x(high)}M${x(low)},${middle - 4}v8M${x(high)},${middle - 4}v8` }));
      }
      inner.push(node("text", { class: "told", x: width, y: middle + 4.5, "text-anchor": "end" }, percent(share)));
      y += thick + gap;
    });
    this.fill(y + 6, ...inner);
  }
}
