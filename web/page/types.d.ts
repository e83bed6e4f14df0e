/** Types that the modules of the page share. This file is not served. */

import type { Mechanism } from "../device/types.d.ts";
import type { Pair } from "./pairs.js";
import type { Question } from "./questions.js";

/** Part of an element; what is not true is left out. */
export type Child = Node | string | null | undefined | false;
/** Attributes of an element, and listeners where a value is a function. */
export type Keys = Record<string, any>;
/** A text, and the language that it is in after all. */
export type Text = { text: any; language: string };
/** A language, and the file of its sentences. */
export type Choice = { language: string; file: string };
/** The part of a question in which an answer is entered. */
export type Entry = (question: Question) => Child[];

/** A sentence of the page, by its key. */
export type Sentence = (key: string, values?: Keys) => string;
/** A text of fields, by its key, where `own` is the survey's language. */
export type Translate = (fields: Keys, key: string, own: string) => Text;
/** Languages that the page has. */
export type Choices = (languages: readonly string[]) => Choice[];
/** Where a cut of a lattice lies. */
export type Edge = (lattice: Keys, cut: number) => number;
/** Questions of a pair. */
export type Questions = Question[];
/** The probability that a report of an index is from first to last. */
export type Chance = (of: Mechanism, index: number, first: number, last: number) => number;

/** Makes an element, "tag.class". */
export type Make = (kind: string, ...parts: (Child | Keys)[]) => HTMLElement;
/** Makes an element of a sentence of the page, by its key. */
export type Say = (key: string, values?: Keys, kind?: string) => Node;
/** Makes an element of a text of the survey. */
export type Speak = (kind: string, text: Text, keys?: Keys) => HTMLElement;
/** Makes or finds an element. */
export type Head = (text: string) => HTMLElement;
/** Makes a section with a heading. */
export type Card = (key: string, ...parts: Child[]) => Node;
/** Makes a list of what is not left out. */
export type List = (kind: string, items: Child[]) => Node;
/** Makes a button, by the key of what it says. */
export type Button = (key: string, click: () => void, kind?: string) => HTMLElement;
/** Makes something to fill in; its type is any because that depends on the attributes. */
export type Input = (keys: Keys) => any;
/** Makes something to choose, with its label. */
export type Labelled = (text: Text, keys: Keys) => Node;
/** A text of the survey. */
export type Own = (scene: Scene, key?: string) => Text;
/** Makes a line that says whom to ask. */
export type Contact = (scene: Scene) => Child;
/** Makes the switch of languages. */
export type Switch = (offered: Choice[], pick: (each: Choice) => void) => Node;
/** Says what an epsilon means for n reports. */
export type Meaning = (key: string, epsilon: number, n?: number) => string;
/** Makes a picture of some of a hundred people. */
export type People = (some: number, key: string) => Node;
/** Makes the card of a pair. */
export type Paired = (pair: Pair) => Node;
/** Makes a question: its place among all, and whether a report is about it alone. */
export type Asked = (question: Question, at: number, all: number, alone: boolean) => Node;
/** Makes the odds of a question. */
export type Odds = (question: Question) => Node;
/** Looks at the answer to a question. */
export type Check = (question: Question) => boolean;
/** A step of the page: what is on the screen, given what its buttons do. */
export type View = (scene: Scene, ...does: (() => void)[]) => Child[];
/** The step after sending. */
export type Sent = (scene: Scene, body: string, now: () => void) => { nodes: Child[]; told: Told };
/** Puts a view on the screen. */
export type Show = (nodes: Child[], moved?: boolean) => void;
/** A page without questions. */
export type Stopped = (why: string[], scene?: Scene) => Child[];

/** What views are made of. */
export interface Scene {
  /** survey.json */
  survey: Record<string, any>;
  /** The questions that this person is asked. */
  questions: Question[];
  /** The pair that they are, where one report about both is sent. */
  pair?: Pair;
  /** Groups of the person, as the invitation has them. */
  groups: string[];
  /** The person's phase, where the survey has any. */
  phase?: number;
  /** Whether this browser lets the page store something. */
  lasting: boolean;
}

/** What an invitation says: groups, the places of the questions that are asked, if not all, or that
 * of a pair, which come after the questions, and the phase, if there are any. */
export type Facts = { g?: string[]; q?: number[]; p?: number };

/** A question of survey.json, with texts by key and language. */
export interface Fields extends Record<string, any> {
  name: string;
  missing: number | string | null;
  mechanism: {
    epsilon: number;
    prefer_not_to_say?: boolean;
    /** Of a question of words. */
    categories?: string[];
    /** Of a question of numbers. */
    lattice: { low: number; high: number; size: number; kind?: string; zoom?: number[] };
  };
}

/** A pair of survey.json. */
export interface Both {
  name: string;
  mechanism: { epsilon: number; parts: Keys[] };
}

/** What is kept on the device: what is sent, as it is sent, and whether it was acknowledged. */
export type Upload = { body: string; received: boolean };
/** What became of an upload. */
export type State =
  | "sending"
  | "waiting"
  | "received"
  | "used"
  | "ended"
  | "unknown"
  | "changed";
/** One attempt to send it. */
export type Attempt = (body: string) => Promise<{ state?: State; after: number }>;
/** The text of an invitation; null where none is needed. */
export type Token = string | null;
/** Says what became of it. */
export type Told = (state: State) => void;
