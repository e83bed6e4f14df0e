// @ts-check
/** Numbers as people read them: no more digits than an interval supports, commas between thousands. */

/** Ends of intervals are rounded outwards, as on the page of results: a range in print then holds
 * what was computed.
 *
 * @typedef {(value: number, rounded?: (steps: number) => number) => string} Format */

/** How many steps a value has, rounded; what lies on a step but for its last bits stays there.
 * @type {(value: number, step: number, rounded: (steps: number) => number) => number} */
function steps(value, step, rounded) {
  const near = Math.round(value / step);
  return Math.abs(value / step - near) < 1e-6 ? near : rounded(value / step);
}

/** How many digits after the point show a step of this size. @type {(step: number) => number} */
function decimals(step) {
  return Math.min(Math.max(0, -Math.floor(Math.log10(step) + 1e-9)), 9);
}

/**
 * A format for values that are known within a spread: two digits of the spread are shown.
 *
 * @type {(spread: number) => Format}
 */
export function within(spread) {
  const step = 10 ** (Math.floor(Math.log10(spread)) - 1);
  const digits = decimals(step);
  const format = new Intl.NumberFormat("en-US", {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  });
  return (value, rounded = Math.round) => format.format(steps(value, step, rounded) * step + 0);
}

/** A share as a percentage. @type {Format} */
export function percent(share, rounded = Math.round) {
  return `${(steps(share, 0.001, rounded) / 10).toFixed(1)}%`;
}

/** A whole number. @type {Format} */
export function whole(n, rounded = Math.round) {
  const format = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
  return format.format(steps(n, 1, rounded) + 0);
}

/**
 * Round places for the labels of an axis, at most so many, and their format. The scale is linear or
 * log, or whole where only whole numbers have a place.
 *
 * @type {(low: number, high: number, most: number, scale: string) =>
 *   { places: number[], format: Format }}
 */
export function ticks(low, high, most, scale) {
  if (scale === "log") return powers(low, high, most);
  const whole = scale === "whole";
  const rough = Math.max((high - low) / Math.max(most, 1), whole ? 1 : 0);
  const power = 10 ** Math.floor(Math.log10(rough));
  const factors = whole && power < 10 ? [1, 2, 5, 10] : [1, 2, 2.5, 5, 10];
  const step = power * (factors.find((factor) => factor * power >= rough) ?? 10);
  const places = [];
  for (let at = Math.ceil(low / step - 1e-9); at * step <= high + step * 1e-9; at++) {
    places.push(at * step + 0);
  }
  const digits = decimals(step);
  const format = new Intl.NumberFormat("en-US", { maximumFractionDigits: digits + 1 });
  return { places, format: (value) => format.format(value) };
}

/** @type {(low: number, high: number, most: number) => { places: number[], format: Format }} */
function powers(low, high, most) {
  const format = new Intl.NumberFormat("en-US", { maximumSignificantDigits: 3 });
  let places = /** @type {number[]} */ ([]);
  for (const factors of [[1, 2, 5], [1, 3], [1]]) {
    places = [];
    for (let power = Math.floor(Math.log10(low)); 10 ** power <= high; power++) {
      for (const factor of factors) {
        const at = factor * 10 ** power;
        if (at >= low * (1 - 1e-9) && at <= high * (1 + 1e-9)) places.push(at);
      }
    }
    if (places.length <= most) break;
  }
  const every = Math.ceil(places.length / most);
  return { places: places.filter((_, at) => at % every === 0), format: (v) => format.format(v) };
}
