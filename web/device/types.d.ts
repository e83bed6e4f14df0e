/** Fair random bytes. */
export type Entropy = { bytes(n: number): Uint8Array };

/** Bounds of 2**bits F(k), below and above. */
export type Law = (bits: number) => [lower: bigint[], upper: bigint[]];

export type Ratio = [bigint, bigint];

/** The JSON of a mechanism, as Python's `Mechanism.to_dict` makes it. */
export type Spec = Record<string, any>;

/** Indices are below `inputs` (-1: no answer), reports below `outputs`; the window is the first and
 * last report around an index, and README.md explains odds. */
export type Kind = {
  inputs: number;
  outputs: number;
  law: Law;
  index(answer: any): number;
  report(index: number, noise: number): number;
  window(index: number): [number, number];
  odds(): { window: number; outputs: number; same: number; other: number };
};

export type Mechanism = Kind & {
  spec: Spec;
  draw(index: number, entropy?: Entropy): number;
};
