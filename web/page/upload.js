// @ts-check
/**
 * One upload a person: drawn once, kept before it is sent, sent until it is acknowledged.
 *
 * @typedef {{ body: string, received: boolean }} Upload
 * @typedef {"sending" | "waiting" | "received" | "used" | "ended" | "unknown" | "changed"} State
 */

const FIRST = 500;
const LONGEST = 30_000;
/** Milliseconds after which an attempt counts as lost. */
const PATIENCE = 20_000;
/** Seconds that a server may ask for before the next attempt, at most. */
const MOST_ASKED = 600;

/** Answers that end the sending; every other one is followed by another attempt.
 * @type {Record<number, State>} */
const FINAL = {
  200: "received",
  201: "received",
  404: "unknown",
  409: "used",
  410: "ended",
  413: "changed",
  415: "changed",
  422: "changed",
};

/** Text without padding for some bytes. @type {(bytes: Uint8Array) => string} */
export const base64url = (bytes) =>
  btoa(String.fromCharCode(...bytes))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");

/** The public groups that an invitation names; null where the text is no whole invitation. Only the
 * collector can tell whether it is genuine. @type {(token: string) => string[] | null} */
export function groupsIn(token) {
  if (!/^[\w-]{44,2000}$/.test(token)) return null;
  try {
    const text = atob(token.replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = Uint8Array.from(text, (each) => each.charCodeAt(0));
    if (bytes[0] !== 1) return null;
    // A version, 16 random bytes and a signature of 16 come first.
    const facts = new TextDecoder("utf-8", { fatal: true }).decode(bytes.subarray(33));
    return facts ? JSON.parse(facts).g ?? [] : [];
  } catch {
    return null;
  }
}

/** Run work while no other tab does. Where a browser blocks storage it blocks locks as well.
 * @type {<T>(name: string, work: () => T) => Promise<T>} */
async function alone(name, work) {
  let begun = false;
  try {
    return await navigator.locks.request(name, () => {
      begun = true;
      return work();
    });
  } catch (error) {
    if (begun) throw error;
    return work();
  }
}

/** The upload to one survey with one invitation, on this device. It holds neither an answer nor
 * randomness: an answer that was changed and sent with the same randomness would give both away. */
export class Kept {
  /** @param {string} key */
  constructor(key) {
    this.key = key;
    /** @type {Upload | null} */
    this.memory = null;
    this.lasting = storing(key);
  }

  /** @param {{ survey: string, wording: string }} survey @param {string | null} token */
  static async of(survey, token) {
    const bytes = new TextEncoder().encode(token ?? "");
    const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
    const name = token === null ? "open" : base64url(hash);
    return new Kept(`confide/${survey.survey}/${survey.wording}/${name}`);
  }

  /** @returns {Upload | null} */
  read() {
    try {
      const found = localStorage.getItem(this.key);
      if (found) this.memory = JSON.parse(found);
    } catch {
      // Storage is blocked: memory is all there is.
    }
    return this.memory;
  }

  /** @param {Upload} upload */
  write(upload) {
    this.memory = upload;
    try {
      localStorage.setItem(this.key, JSON.stringify(upload));
    } catch {
      this.lasting = false;
    }
  }

  /** The upload: the one that is kept, or else a new one, which is kept before anybody sees it.
   * @param {() => string} draw */
  once(draw) {
    return alone(this.key, () => {
      if (!this.read()) this.write({ body: draw(), received: false });
    });
  }
}

/** Whether something can be stored. @type {(key: string) => boolean} */
function storing(key) {
  try {
    localStorage.setItem(`${key}/try`, "");
    localStorage.removeItem(`${key}/try`);
    return true;
  } catch {
    return false;
  }
}

/** Sends what is kept, until the collector has answered. */
export class Sender {
  /** @param {Kept} kept @param {(state: State) => void} told */
  constructor(kept, told) {
    this.kept = kept;
    this.told = told;
    this.delay = FIRST;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.timer = undefined;
    this.busy = false;
    this.over = false;
  }

  /** Send now, unless it is being sent or was answered. */
  async now() {
    const upload = this.kept.read();
    if (this.busy || this.over || !upload) return;
    clearTimeout(this.timer);
    if (upload.received) return this.end("received");
    this.busy = true;
    this.told("sending");
    const { state, after } = await attempt(upload.body);
    this.busy = false;
    if (state) return this.end(state);
    if (this.kept.read()?.received) return this.end("received"); // another tab was told
    this.told("waiting");
    this.timer = setTimeout(() => this.now(), Math.max(this.delay, after));
    this.delay = Math.min(2 * this.delay, LONGEST);
  }

  /** @param {State} state */
  end(state) {
    clearTimeout(this.timer);
    this.over = true;
    const upload = this.kept.read();
    // Only what was received is over for good: a refused upload is sent again after a reload.
    if (state === "received" && upload) this.kept.write({ ...upload, received: true });
    this.told(state);
  }
}

/** One attempt: the state that ends the sending, or milliseconds to wait at least.
 * @type {(body: string) => Promise<{ state?: State, after: number }>} */
async function attempt(body) {
  let after = 0;
  try {
    const reply = await fetch("./reports", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body,
      credentials: "omit",
      redirect: "error",
      keepalive: true,
      signal: AbortSignal.timeout(PATIENCE),
    });
    const asked = Number(reply.headers.get("retry-after")) || 0;
    after = 1000 * Math.min(asked, MOST_ASKED);
    // Whatever stands between may answer too: the collector gives a reason.
    const { reason } = await reply.json();
    if (typeof reason === "string") return { state: FINAL[reply.status], after };
  } catch {
    // No answer, or not one of ours.
  }
  return { after };
}
