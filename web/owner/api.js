// @ts-check
/**
 * What the page asks of its server. The secret comes with the link, after the #, and goes nowhere
 * but into the header of requests; the address bar loses it, so that a picture of the screen does
 * not give it away.
 *
 * @typedef {object} Group
 * @property {string} group
 * @property {number} invited
 * @property {number} answered
 *
 * @typedef {object} Asked a question of the survey
 * @property {string} name
 * @property {string} text
 * @property {"number" | "integer" | "categories"} kind
 * @property {number | null} invited to this question, where people are asked some of them only
 * @property {string} unit
 * @property {string} capped which values count as a bound, in a sentence; empty where none do
 * @property {boolean} ordered
 * @property {number} low
 * @property {number} high
 * @property {string} scale
 * @property {Record<string, string>} labels
 *
 * @typedef {object} State
 * @property {string} title
 * @property {string} language
 * @property {number} epsilon
 * @property {boolean} closed
 * @property {boolean} provisional
 * @property {string | null} closes
 * @property {string} now
 * @property {number | null} invited
 * @property {number} answered
 * @property {number | null} waiting
 * @property {number | null} rate
 * @property {{ by: string, of: Group[] }[]} groups
 * @property {{ now: number, after?: number, until?: string, of: { invited: number, answered: number }[] } | null} phases
 * @property {Asked[]} questions
 * @property {{ name: string, questions: string[], invited: number }[]} pairs
 *
 * @typedef {object} Relation
 * @property {string[]} questions
 * @property {number} n
 * @property {number} correlation
 * @property {number} low
 * @property {number} high
 *
 * @typedef {object} Quantity
 * @property {string} name
 * @property {number | null} estimate
 * @property {number | null} low
 * @property {number | null} high
 *
 * @typedef {object} Result
 * @property {string} question
 * @property {"number" | "integer" | "categories"} kind
 * @property {number} n
 * @property {number} needed
 * @property {string} reason
 * @property {boolean} plausible
 * @property {Quantity[]} quantities of those who did not decline
 * @property {Quantity} [declined] share of those who preferred not to say, where they could
 * @property {Quantity[]} [cumulative] shares of ordered categories and those before
 * @property {{ edges: number[][], masses: number[] } | null} curve
 * @property {{ by: string, of: (Result & { group: string | number })[] }[]} groups
 *
 * @typedef {object} Latest
 * @property {number} number
 * @property {number} reports
 * @property {boolean} final
 * @property {boolean} quick
 * @property {boolean} estimating
 * @property {string} fault
 * @property {{ level: number, questions: Result[], relations?: Relation[] } | null} results
 */

const KEY = "confide-dashboard";

/** An answer that is a refusal, with the server's reason. */
export class Refusal extends Error {
  /** @param {number} status @param {string} reason */
  constructor(status, reason) {
    super(reason);
    this.status = status;
  }
}

let secret = "";

/** Take the secret from the link, or from before a reload. */
export function unlock() {
  const given = location.hash.slice(1);
  try {
    if (given) sessionStorage.setItem(KEY, given);
    secret = given || sessionStorage.getItem(KEY) || "";
    history.replaceState(null, "", location.pathname);
  } catch {
    // Without storage the secret stays where it is, or a reload would lose it.
    secret = given;
  }
}

/** @type {(path: string, body?: object) => Promise<Response>} */
async function ask(path, body) {
  const answer = await fetch(path, {
    method: body ? "POST" : "GET",
    headers: {
      authorization: `Bearer ${secret}`,
      ...(body ? { "content-type": "application/json" } : {}),
    },
    body: body ? JSON.stringify(body) : undefined,
    cache: "no-store",
    credentials: "omit",
    redirect: "error",
  });
  if (answer.ok) return answer;
  const told = await answer.json().catch(() => ({}));
  throw new Refusal(answer.status, told.reason ?? `The server answers with ${answer.status}.`);
}

/** @type {() => Promise<State>} */
export const state = async () => (await ask("api/state")).json();

/** @type {(have: number) => Promise<Latest>} */
export const latest = async (have) => (await ask(`api/results?have=${have}`)).json();

/** @type {() => Promise<string>} */
export const close = async () => (await (await ask("api/close", {})).json()).reason;

/** @type {() => Promise<Blob>} */
export const page = async () => (await ask("api/page")).blob();

/** Reports of the survey, or of its second phase.
 * @type {(before_closing: boolean, second: boolean) => Promise<Blob>} */
export async function reports(before_closing, second) {
  return (await ask("api/export", { before_closing, second })).blob();
}
