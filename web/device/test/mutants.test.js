import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { kit } from "./files.js";
import { faults } from "./kit.js";
import { MUTANTS } from "./mutants.js";

const source = readFileSync(new URL("../device.js", import.meta.url), "utf8");
const random = kit.draws.filter((line) => line.why === "random words");

/** @type {(text: string) => Promise<import("./kit.js").Device>} */
const load = (text) => import(`data:text/javascript,${encodeURIComponent(text)}`);

/** @type {(device: import("./kit.js").Device, lines: import("./kit.js").Kit) => string} */
function firstFault(device, lines) {
  try {
    return faults(device, lines).next().value ?? "";
  } catch (error) {
    return `${error}`;
  }
}

test("every slip is caught by the kit", async () => {
  assert.ok(MUTANTS.length >= 14);
  assert.equal(firstFault(await load(source), kit), "");
  const alone = { draws: random, indices: [], refused: [] };
  let easy = 0;
  for (const [slip, from, to] of MUTANTS) {
    assert.equal(source.split(from).length, 2, `${slip}: ${from} must be in device.js once`);
    const mutant = await load(source.replace(from, () => to));
    assert.notEqual(firstFault(mutant, kit), "", `not caught: ${slip}`);
    easy += Number(firstFault(mutant, alone) !== "");
  }
  console.log(`${MUTANTS.length} slips caught; ${easy} of them by random 32-bit words alone`);
});
