/** One upload a person: drawn once, kept before it is sent, sent until it is acknowledged.
 * @import * as T from "./types.d.ts" */

/** Seconds between attempts, at first and at most; of an attempt; that a server may ask for; and
 * for a database to open. */
const [FIRST, LONGEST, PATIENCE, MOST_ASKED, OPENING] = [0.5, 30, 20, 600, 5];

/** Answers that end the sending; any other one is followed by another attempt.
 * @type {Record<number, T.State>} */
const FINAL = {
  200: "received", 201: "received", 404: "unknown", 409: "used", 410: "ended",
  413: "changed", 415: "changed", 422: "changed",
};

/** @param {Uint8Array} bytes */
export const base64url = (bytes) =>
  btoa(String.fromCharCode(...bytes)).replace(/[+/=]/g, (each) => ({ "+": "-", "/": "_" })[each] ?? "");

/** @param {string} token */
export function bytesIn(token) {
  const text = atob(token.replaceAll("-", "+").replaceAll("_", "/"));
  return Uint8Array.from(text, (each) => each.charCodeAt(0));
}

/** What an invitation says; null where the text is no whole invitation. Only the collector can tell
 * whether it is genuine. @type {(token: string) => T.Facts | null} */
export function factsIn(token) {
  try {
    const bytes = bytesIn(token);
    // After a version, 16 random bytes and a signature of 16.
    const facts = new TextDecoder("utf-8", { fatal: true }).decode(bytes.subarray(33));
    if (bytes[0] !== 1 || bytes.length < 33) return null;
    return JSON.parse(facts || "{}");
  } catch {
    return null;
  }
}

/** The upload that the first tab has drawn. What a tab writes to localStorage may come late to
 * others; transactions of IndexedDB follow one another, and drawing inside of one locks out other
 * tabs. Where it is blocked, this tab decides.
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
  /** @type {T.Upload | null} */
  memory = null;
  /** Outlives this tab. */
  lasting = true;

  /** @param {string} key */
  constructor(key) {
    this.key = key;
    this.#store(`${key}/try`);
    if (this.lasting) localStorage.removeItem(`${key}/try`);
  }

  /** @param {T.Scene["survey"]} survey @param {T.Token} token */
  static async of({ survey, wording }, token) {
    // By the random bytes of the invitation alone: neither a changed survey nor another spelling of
    // the link may draw again.
    const whole = token && factsIn(token);
    const name = whole ? bytesIn(token).subarray(0, 17) : new TextEncoder().encode(token ?? survey + wording);
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

  /** @param {T.Upload} upload */
  write(upload) {
    this.memory = upload;
    this.#store();
  }

  /** Draw an upload, unless one is kept; keep it before it is sent. @param {() => string} draw */
  async once(draw) {
    const body = await first(this.key, draw);
    if (!this.read()) this.write({ body, received: false });
  }
}

/** Sends what is kept, until the collector has answered. */
export class Sender {
  delay = FIRST;
  timer = 0;
  /** Whether it is being sent, or was answered. */
  busy = false;

  /** @param {Kept} kept @param {T.Told} told */
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
 * @type {T.Attempt} */
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
