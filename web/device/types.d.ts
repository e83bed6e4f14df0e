/** Fair random bytes. */
export type Entropy = { bytes(n: number): Uint8Array };

/** Bounds of 2**bits F(k), below and above. */
export type Law = (bits: number) => [lower: bigint[], upper: bigint[]];

export type Ratio = [bigint, bigint];

/** The JSON of a mechanism, as Python's `Mechanism.to_dict` makes it. */
export type Spec = Record<string, any>;

/** Answers have indices below `size`, or the size where `more` is 1 and somebody declines; -1: no
 * answer. */
export type Axis = { size: number; more: number; index(answer: any): number };

/** Indices are below `inputs` (-1: no answer), reports below `outputs`. */
export type Noise = { inputs: number; outputs: number; law: Law };

export type Kind = Noise & {
  index(answer: any): number;
  report(index: number, noise: number): number;
};

export type Mechanism = Kind & {
  spec: Spec;
  draw(index: number, entropy?: Entropy): number;
};

/** Why a text is no number. empty: nothing was typed; characters: other characters than digits, a
 * sign and separators (this takes 1e5, 0x10 and Infinity); separators: separators where this
 * language has none, or groups that are not of three digits; digits: more than 15 digits that
 * count, which would be rounded. */
export type Reason = "empty" | "characters" | "separators" | "digits";

/** What was read: an optional sign, digits and a decimal part. Thousands may be separated, in
 * groups of three and by one and the same character. Both numbers are there where a
 * text such as 1.234 may mean 1234 or 1.234. */
export type Parsed = { value: number; both?: [number, number] } | { reason: Reason };
