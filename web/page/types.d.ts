/** Types that the modules of the page share. This file is not served. */

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

/** What views are made of. */
export interface Scene {
  /** survey.json */
  survey: Record<string, any>;
  questions: Question[];
  /** Groups of the person, as the invitation has them. */
  groups: string[];
  /** Whether this browser lets the page store something. */
  lasting: boolean;
}

/** A question of survey.json, with texts by key and language. */
export interface Fields extends Record<string, any> {
  name: string;
  missing: number | string | null;
  mechanism: {
    epsilon: number;
    /** Of a question of words. */
    categories?: string[];
    /** Of a question of numbers. */
    lattice: { low: number; high: number };
  };
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
