import { readFileSync } from "node:fs";
import { lines } from "./kit.js";

const folder = new URL("../../../conformance/", import.meta.url);
const file = (/** @type {string} */ name) => lines(readFileSync(new URL(`${name}.jsonl`, folder), "utf8"));

/** The committed vectors. */
export const kit = { draws: file("draws"), indices: file("indices"), refused: file("refused") };
