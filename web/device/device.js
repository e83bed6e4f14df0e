/** confide's device: an answer becomes a private report, in integers from its index on. The same
 * bytes give the same report as in Python: words.md is the protocol.
 * @import { Axis, Entropy, Kind, Law, Mechanism, Noise, Ratio, Spec } from "./types.d.ts"
 */

export const MAX_SIZE = 2 ** 20;
const ONE = 1n << 62n;
/** Cells of a pair, at most. */
const MOST = 1024;

/** Messages never quote an answer. */
export class Refused extends Error {}

/** @type {(holds: unknown, message: string) => asserts holds} */
function need(holds, message) {
  if (!holds) throw new Refused(message);
}

/** Whether x is an integer from a to b. @type {(a: number, x: any, b: number) => boolean} */
const from = (a, x, b) => Number.isInteger(x) && a <= x && x <= b;

/** The browser's generator; a draw asks for 4 bytes. @type {Entropy} */
export const system = { bytes: (n) => crypto.getRandomValues(new Uint8Array(n)) };

/** a / b rounded up, a >= 0, b > 0. @type {(a: bigint, b: bigint) => bigint} */
const ceil = (a, b) => (a + b - 1n) / b;

/** Whether over / under <= e**(a / b), a, b > 0: its series, rounded down and up, with more bits
 * until they agree: the power is irrational.
 * @type {(ratio: Ratio, exponent: Ratio) => boolean} */
export function keeps([over, under], [a, b]) {
  for (let bits = 128n; ; bits *= 2n) {
    let low = 1n << bits;
    let [high, down, up] = [low, low, low];
    for (let k = 1n; up > 1n || k * b < 2n * a; k++) {
      down = (down * a) / (b * k);
      up = ceil(up * a, b * k);
      low += down;
      high += up;
    }
    if (over << bits <= under * low) return true;
    // Terms halve by now: the rest is at most the last one.
    if (over << bits > under * (high + up)) return false;
  }
}

/** Epsilon as a ratio: the float or what is written, the smaller. @type {(x: number) => Ratio} */
export function exact(x) {
  need(Number.isFinite(x) && x > 0 && x <= 100, "epsilon must be above 0 and at most 100.");
  const [digits, shift = "0"] = String(x).split("e-");
  const [whole, part = ""] = digits.split(".");
  const [over, under] = [BigInt(whole + part), 10n ** BigInt(part.length + Number(shift))];
  let unit = 1n;
  for (; !Number.isInteger(x); x *= 2) unit *= 2n;
  return BigInt(x) * under < over * unit ? [BigInt(x), unit] : [over, under];
}

/** Outcomes of each weight, so many. @type {(runs: [bigint, number][]) => Law} */
function weighted(runs) {
  /** @type {bigint[]} */
  const sums = [];
  let total = 0n;
  for (const [weight, count] of runs)
    for (let k = 0; k < count; k++) sums.push((total += weight));
  sums.pop();
  return (bits) => {
    const large = sums.map((sum) => sum << BigInt(bits));
    return [large.map((sum) => sum / total), large.map((sum) => ceil(sum, total))];
  };
}

/** m and noise of law p**|k|, p = over / 2**62, gathered at -m and m: F(-j) = p**j / (1 + p),
 * F(j - 1) = 1 - F(-j). There are 64 guard bits. @type {(over: bigint, m: number) => Law} */
function geometric(over, m) {
  return (bits) => {
    const one = 1n << BigInt(bits);
    let low = (one << 126n) / (ONE + over);
    let high = low + 1n;
    const [lower, upper] = [Array(2 * m), Array(2 * m)];
    for (let j = 1; j <= m; j++) {
      low = (low * over) >> 62n;
      high = ceil(high * over, ONE);
      lower[m - j] = low >> 64n;
      upper[m - j] = ceil(high, 1n << 64n);
      lower[m + j - 1] = one - upper[m - j];
      upper[m + j - 1] = one - lower[m - j];
    }
    return [lower, upper];
  };
}

/** How many bounds are <= word; all are compared.
 * @type {(bounds: ArrayLike<any>, word: any) => number} */
function count(bounds, word) {
  let found = 0;
  for (let k = 0; k < bounds.length; k++) found += Number(bounds[k] <= word);
  return found;
}

/** Exact draws by inversion: a word decides, or more words do.
 * @type {(law: Law, bits: number) => (entropy: Entropy) => number} */
function sampler(law, bits) {
  need([8, 16, 32].includes(bits), "Words have 8, 16 or 32 bits.");
  const top = 2 ** bits - 1;
  // The largest word stands for a bound of 2**bits, and is then refined.
  const [lower, upper] = law(bits).map((bounds) =>
    Uint32Array.from(bounds, (bound) => Math.min(Number(bound), top)),
  );
  const capped = upper[upper.length - 1] === top;
  // Bounds for a second word are made first, or the time would tell.
  const finer = [law(2 * bits)];
  // The first byte is the lowest.
  const read = (/** @type {Entropy} */ entropy) =>
    entropy.bytes(bits / 8).reduceRight((word, byte) => 256 * word + byte, 0);
  return (entropy) => {
    const word = read(entropy);
    const below = count(upper, word);
    if (below === count(lower, word) && !(capped && word === top)) return below;
    let long = BigInt(word);
    for (let level = 0; ; level++) {
      long = (long << BigInt(bits)) + BigInt(read(entropy));
      const [least, most] = (finer[level] ??= law((level + 2) * bits));
      const found = count(most, long);
      if (found === count(least, long)) return found;
    }
  };
}

/** @type {(fields: any, what: string, keys: string, optional?: string) => void} */
function only(fields, what, keys, optional) {
  const found = Object.keys(fields ?? {}).filter((key) => key !== optional).sort().join(" ");
  need(found === keys, `${what} must have the keys ${keys}, not ${found || "none"}.`);
}

/** ln(x >= 1) in IEEE steps: bit for bit Python's portable_log. @type {(x: number) => number} */
function log(x) {
  let exponent = 0;
  for (; x >= 1.4142135623730951; x /= 2) exponent++;
  const s = (x - 1) / (x + 1);
  let series = 0;
  for (let odd = 23; odd > 0; odd -= 2) series = series * (s * s) + 1 / odd;
  return exponent * 0.6931471805599453 + 2 * s * series;
}

/** Stretches of equal cells, the uppermost first: from, to, the first cell, how many. Nine tenths of
 * the cells lie inside the zoom.
 * @type {(low: number, high: number, size: number, zoom: any) => number[][]} */
function stretches(low, high, size, zoom) {
  const [start, end] = Array.isArray(zoom) && zoom.length === 2 ? zoom : [];
  const inside = [start, end].every(Number.isFinite) && low <= start && start < end && end <= high;
  need(inside && end - start < high - low, "The zoom must be two numbers inside of the bounds.");
  need(size >= 20, "A zoomed lattice must have 20 cells or more.");
  const sides = [start - low, high - end];
  const [below, above] = sides.map((side) => {
    const part = (1 - 0.9) * size * (side / (sides[0] + sides[1]));
    return side > 0 ? Math.max(1, Math.floor(part + 0.5)) : 0;
  });
  const middle = size - below - above;
  const all = [[end, high, below + middle, above], [start, end, below, middle], [low, start, 0, below]];
  return all.filter(([, , , cells]) => cells);
}

/** @type {(fields: any) => { size: number, index(answer: any): number }} */
function lattice(fields) {
  const zoomed = fields?.scale === "zoom";
  only(fields, "A lattice", `high low scale size${zoomed ? " zoom" : ""}`, "kind");
  const { low, high, size, scale, kind } = fields;
  const ends = [low, high];
  const sound = ends.every((x) => Number.isFinite(x) && Math.abs(x) <= 1e150);
  need(sound && low < high, "Bounds must be numbers within 1e150, low < high.");
  need(from(2, size, MAX_SIZE), `The size must be an integer from 2 to ${MAX_SIZE}.`);
  const logs = scale === "log" && low >= 1e-150;
  need(logs || zoomed || scale === "linear", "The scale must be linear, zoom, or log above 0.");
  const [whole, half, all] = [kind === "integer", Number(kind === "points") / 2, high - low + 1];
  // Integers in a cell; the last one may have fewer.
  const each = Math.ceil(all / size);
  const even = ends.every((x) => from(-(2 ** 50), x, 2 ** 50)) && Math.ceil(all / each) === size;
  const known = !logs && !zoomed && (half || (whole && even));
  need(known || kind === undefined, "The kind must be points, or integers, evenly.");
  const pieces = zoomed ? stretches(low, high, size, fields.zoom) : [];
  return {
    size,
    index(answer) {
      if (!(whole ? Number.isInteger(answer) : Number.isFinite(answer))) return -1;
      const x = Math.min(Math.max(answer, low), high);
      if (whole) return (x - low - ((x - low) % each)) / each;
      // An edge between two stretches belongs to the upper one.
      for (const [start, end, first, cells] of pieces)
        if (x >= start)
          return first + Math.min(Math.floor(((x - start) / (end - start)) * cells), cells - 1);
      const part = logs ? log(x / low) / log(high / low) : (x - low) / (high - low);
      return Math.trunc(Math.min(Math.max(part * (size - 2 * half) + half, 0), size - 1));
    },
  };
}

/** @type {(words: any[]) => ReturnType<typeof lattice>} */
function categories(words) {
  const size = Array.isArray(words) ? new Set(words).size : 0;
  const sound = from(2, size, MAX_SIZE) && words.every((x) => x && typeof x === "string");
  need(sound && words.length === size, `Categories must be 2 to ${MAX_SIZE} different words.`);
  return { size, index: (answer) => words.indexOf(answer) };
}

/** The answers to a question: cells or words and, where people may decline, null after them.
 * @type {(fields: Spec) => Axis} */
function axis(fields) {
  const { prefer_not_to_say: offered = false } = fields;
  need(typeof offered === "boolean", "prefer_not_to_say must be true or false.");
  const numbers = "lattice" in fields;
  const { size, index } = numbers ? lattice(fields.lattice) : categories(fields.categories);
  return {
    size,
    more: Number(offered),
    index: (answer) => (offered && answer === null ? size : index(answer)),
  };
}

/** A question of a pair: classes begin at 0 and at every cut; who declined is in one more.
 * @type {(fields: any) => Axis & { name: string, classes: number, find(index: number): number }} */
function side(fields) {
  const kind = fields?.categories ? "categories cuts name" : "cuts lattice name";
  only(fields, "A question of a pair", kind, "prefer_not_to_say");
  const found = axis(fields);
  const { name } = fields;
  /** @type {any[]} */
  const cuts = Array.isArray(fields.cuts) ? fields.cuts : [];
  const sound = cuts.every((x, at) => from(at ? cuts[at - 1] + 1 : 1, x, found.size - 1));
  need(sound && cuts.length, "Cuts must be indices above 0, ascending.");
  need(name && typeof name === "string", "A question of a pair must have a name.");
  const ends = [...cuts, found.size];
  return { ...found, name, classes: ends.length, find: (index) => count(ends, index) };
}

/** @type {(ratio: Ratio, epsilon: number, m: number) => void} */
function honest(ratio, epsilon, m) {
  const [over, under] = exact(epsilon);
  const kept = keeps(ratio, [over, under * BigInt(m)]);
  need(kept, `The noise is weaker than the declared epsilon of ${epsilon}: do not answer.`);
}

/** The 2 reach + 1 reports around an answer weigh more than others. Where people may decline,
 * one more report says so, as heavy as those around an answer.
 * @type {(spec: Spec, size: number, more: number, reach?: number) => Noise} */
function band(spec, size, more, reach = 0) {
  const texts = Array.isArray(spec.weights) ? spec.weights : [];
  const sound = texts.every((x) => typeof x === "string" && /^[1-9]\d{0,63}$/.test(x));
  need(sound && texts.length === 2, "Weights must be two whole numbers, as text.");
  const [near, far] = texts.map(BigInt);
  need(near > far, "A near report must weigh more than a far one.");
  honest([near, far], spec.epsilon, 1);
  const window = 2 * reach + 1;
  return {
    inputs: size + more,
    outputs: size + 2 * reach + more,
    law: weighted([[near, window], [far, size - 1 + more * window]]),
  };
}

/** Mechanisms by name. @type {Record<string, (spec: Spec) => Kind>} */
export const KINDS = {
  "square-wave"(spec) {
    only(spec, "A square wave", "epsilon lattice mechanism reach weights", "prefer_not_to_say");
    const { size, more, index } = axis(spec);
    const { reach } = spec;
    need(from(0, reach, size), "The reach must be an integer from 0 to the size.");
    const near = 2 * reach + 1;
    return {
      ...band(spec, size, more, reach),
      index,
      // Near slots count from the index, far ones step over the near reports. The last ones are
      // cut to the symbol; so are the near ones of who declined.
      report(index, slot) {
        const far = slot - near;
        const at = index + 2 * reach * Number(index === size);
        const cell = far + near * Number(far >= at) + (at + near) * Number(far < 0);
        return Math.min(cell, size + 2 * reach);
      },
    };
  },

  "randomized-response"(spec) {
    only(spec, "Randomized response", "categories epsilon mechanism weights", "prefer_not_to_say");
    const { size, more, index } = axis(spec);
    const made = band(spec, size, more);
    return { ...made, index, report: (index, step) => (index + step) % made.outputs };
  },

  // Randomized response on the classes of two answers: whether they differ, where there are two
  // each, else the cell of their table. Answers come by name; an index counts both, row by row.
  "pair-response"(spec) {
    only(spec, "A pair response", "epsilon mechanism parts weights");
    const sides = Array.isArray(spec.parts) ? spec.parts.map(side) : [];
    const [first, second] = sides;
    need(sides.length === 2 && first.name !== second.name, "A pair must have two questions.");
    const [rows, columns] = sides.map(({ classes }) => classes);
    need(rows * columns <= MOST, `A pair must have at most ${MOST} cells.`);
    const bit = rows === 2 && columns === 2;
    const cells = bit ? 2 : rows * columns;
    const [height, width] = sides.map(({ size, more }) => size + more);
    const made = band(spec, cells, first.more | second.more);
    return {
      ...made,
      inputs: height * width,
      index(answers) {
        const [i, j] = sides.map(({ index, name }) => index(answers?.[name]));
        return i < 0 || j < 0 ? -1 : i * width + j;
      },
      report(index, step) {
        const j = index % width;
        const [row, column] = [first.find((index - j) / width), second.find(j)];
        const cell = bit ? row ^ column : row * columns + column;
        return ((row < rows && column < columns ? cell : cells) + step) % made.outputs;
      },
    };
  },

  laplace(spec) {
    only(spec, "A Laplace mechanism", "epsilon lattice mechanism p");
    const { size, index } = lattice(spec.lattice);
    const [, digits = "0"] = /^(\d{1,19})\/4611686018427387904$/.exec(spec.p) ?? [];
    const over = BigInt(digits);
    need(over > 0n && over < ONE, "p must be a whole number over 2**62, above 0 and below 1.");
    const m = size - 1;
    honest([ONE, over], spec.epsilon, m);
    return {
      inputs: size,
      outputs: size,
      index,
      law: geometric(over, m),
      report: (index, noise) => Math.min(Math.max(index + noise - m, 0), m),
    };
  },
};

/** The mechanism of a specification (Python's `Mechanism.to_dict`), if it keeps its epsilon. Words
 * have 32 bits, or fewer in tests. @type {(spec: any, options?: { bits?: number }) => Mechanism} */
export function mechanism(spec, { bits = 32 } = {}) {
  const known = Object.hasOwn(KINDS, spec?.mechanism);
  need(known, `The mechanism must be one of ${Object.keys(KINDS).join(", ")}.`);
  const kind = KINDS[spec.mechanism](spec);
  const noise = sampler(kind.law, bits);
  return {
    ...kind,
    spec,
    draw(index, entropy = system) {
      // The last gate: an index out of range would get too little noise.
      need(from(0, index, kind.inputs - 1), "This is no answer to the question.");
      return kind.report(index, noise(entropy));
    },
  };
}

/** One private report of an answer.
 * @type {(mechanism: Mechanism, answer: any, entropy?: Entropy) => number} */
export const privatize = (mechanism, answer, entropy = system) =>
  mechanism.draw(mechanism.index(answer), entropy);
