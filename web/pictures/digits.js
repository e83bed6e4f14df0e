// @ts-check
/** Numbers as people read them: no more digits than an interval supports, commas between thousands. */

/** @typedef {(value: number) => string} Format */

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
  return (value) => format.format(Math.round(value / step) * step + 0);
}

/** A share as a percentage. @type {(share: number) => string} */
export function percent(share) {
  return `${(100 * share).toFixed(1)}%`;
}

/** A whole number. @type {(n: number) => string} */
export function whole(n) {
  return new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 }).format(n);
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
