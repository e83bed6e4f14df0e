/** One upload a person: drawn once, kept before it is sent, sent until it is acknowledged.
 * @import { State, Upload } from "./types.d.ts" */

/** Seconds between attempts, at first and at most; of an attempt; that a server may ask for. */
const [FIRST, LONGEST, PATIENCE, MOST_ASKED] = [0.5, 30, 20, 600];
/** Seconds to wait for a database that does not open. */
const OPENING = 5;

/** Answers that end the sending; any other one is followed by another attempt.
 * @type {Record<number, State>} */
const FINAL = {
  200: "received", 201: "received", 404: "unknown", 409: "used", 410: "ended",
  413: "changed", 415: "changed", 422: "changed",
};

/** Bytes as text. @type {(bytes: Uint8Array) => string} */
export const base64url = (bytes) =>
  btoa(String.fromCharCode(...bytes)).replace(/[+/=]/g, (each) => ({ "+": "-", "/": "_" })[each] ?? "");

/** The public groups that an invitation names; null where the text is no whole invitation. Only the
 * collector can tell whether it is genuine. @type {(token: string) => string[] | null} */
export function groupsIn(token) {
  try {
    const text = atob(token.replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = Uint8Array.from(text, (each) => each.charCodeAt(0));
    // After a version, 16 random bytes and a signature of 16.
    const facts = new TextDecoder("utf-8", { fatal: true }).decode(bytes.subarray(33));
    if (bytes[0] !== 1 || bytes.length < 33) return null;
    return facts ? JSON.parse(facts).g : [];
  } catch {
    return null;
  }
}

/** Run work while no other tab does; blocked storage blocks locks as well.
 * @type {(name: string, work: () => Promise<void>) => Promise<void>} */
async function alone(name, work) {
  let begun = false;
  const begin = () => {
    begun = true;
    return work();
  };
  try {
    await navigator.locks.request(name, begin);
  } catch (error) {
    if (begun) throw error;
    await begin();
  }
}

/** The upload that the first tab has drawn. What a tab writes to localStorage may come late to
 * others; transactions of IndexedDB follow one another. Where it is blocked, this tab decides.
 * @type {(name: string, draw: () => string) => Promise<string>} */
function first(name, draw) {
  let body = "";
  const own = () => (body ||= draw());
  const decided = new Promise((resolve, reject) => {
    setTimeout(reject, 1000 * OPENING);
    const opening = indexedDB.open("confide");
    opening.onupgradeneeded = () => opening.result.createObjectStore("uploads");
    opening.onerror = reject;
    opening.onsuccess = () => {
      const work = opening.result.transaction("uploads", "readwrite");
      const uploads = work.objectStore("uploads");
      const found = uploads.get(name);
      found.onsuccess = () => uploads.put(found.result ?? own(), name);
      work.oncomplete = () => resolve(found.result ?? body);
      work.onabort = reject;
    };
  });
  return decided.catch(own);
}

/** The upload with one invitation on this device, without any answer or randomness: another answer
 * with the same randomness would give both away. */
export class Kept {
  /** @type {Upload | null} */
  memory = null;
  /** Whether it outlives this tab. */
  lasting = true;

  /** @param {string} key */
  constructor(key) {
    this.key = key;
    this.#store(`${key}/try`);
    if (this.lasting) localStorage.removeItem(`${key}/try`);
  }

  /** @param {{ survey: string, wording: string }} survey @param {string | null} token */
  static async of({ survey, wording }, token) {
    // By the invitation alone: a changed survey must not draw again.
    const name = new TextEncoder().encode(token ?? survey + wording);
    const hash = await crypto.subtle.digest("SHA-256", name);
    return new Kept(`confide/${base64url(new Uint8Array(hash))}`);
  }

  #store(key = this.key) {
    try {
      localStorage.setItem(key, JSON.stringify(this.memory));
    } catch {
      this.lasting = false; // storage is blocked or full
    }
  }

  read() {
    try {
      this.memory = JSON.parse(localStorage.getItem(this.key) ?? "null") ?? this.memory;
    } catch {
      // Memory is all there is.
    }
    return this.memory;
  }

  /** @param {Upload} upload */
  write(upload) {
    this.memory = upload;
    this.#store();
  }

  /** Draw an upload, unless one is kept; keep it before it is sent. @param {() => string} draw */
  once(draw) {
    return alone(this.key, async () => {
      if (!this.read()) this.write({ body: await first(this.key, draw), received: false });
    });
  }
}

/** Sends what is kept, until the collector has answered. */
export class Sender {
  delay = FIRST;
  timer = 0;
  /** Whether it is being sent, or was answered. */
  busy = false;

  /** @param {Kept} kept @param {(state: State) => void} told */
  constructor(kept, told) {
    this.kept = kept;
    this.told = told;
  }

  async now() {
    const upload = this.kept.read();
    if (this.busy || !upload) return;
    this.busy = true;
    clearTimeout(this.timer);
    if (upload.received) return this.told("received");
    this.told("sending");
    const { state, after } = await attempt(upload.body);
    // A refused upload is sent again after a reload.
    if (state === "received") this.kept.write({ ...upload, received: true });
    this.told(state ?? "waiting");
    if (state) return;
    this.busy = false;
    this.timer = window.setTimeout(() => this.now(), 1000 * Math.max(this.delay, after));
    this.delay = Math.min(2 * this.delay, LONGEST);
  }
}

/** One attempt: the state that ends the sending, if any, and seconds to wait at least.
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
      signal: AbortSignal.timeout(1000 * PATIENCE),
    });
    after = Math.min(Number(reply.headers.get("retry-after")) || 0, MOST_ASKED);
    // Something in between may answer as well: the collector gives a reason.
    const { reason } = await reply.json();
    if (typeof reason === "string") return { state: FINAL[reply.status], after };
  } catch {
    // No answer, or not the collector's.
  }
  return { after };
}
