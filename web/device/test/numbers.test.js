import assert from "node:assert/strict";
import { test } from "node:test";
import { parseNumber } from "../numbers.js";

/** @type {[language: string, text: string, value: number][]} */
const READ = [
  ["de", "1.234", 1234],
  ["en", "1,234", 1234],
  ["en", "1.2340", 1.234],
  ["en", "0.125", 0.125],
  ["de", "1234,567", 1234.567],
  ["en", "54321", 54321],
  ["de", "  54.321,50 \t", 54321.5],
  ["en", "1,234,567.891", 1234567.891],
  ["en", "12 345", 12345],
  ["de", "12 345,6", 12345.6],
  ["fr", "12\u202f345,6", 12345.6],
  ["fr", "12\u00a0345", 12345],
  ["fr", "1 234 567", 1234567],
  ["de-CH", "1'234.5", 1234.5],
  ["de-CH", "1\u2019234", 1234],
  ["en", "-5", -5],
  ["en", "+5", 5],
  ["de", "\u22125,5", -5.5],
  ["en", ".5", 0.5],
  ["de", ",5", 0.5],
  ["en", "007", 7],
  ["en", "0", 0],
  ["en", "0.1", 0.1],
  ["en", "123456789012345", 123456789012345],
  ["en", "0.00000123456789012345", 0.00000123456789012345],
  ["en", "1000000000000000000000", 1e21],
];

/** @type {[language: string, text: string, reason: string][]} */
const REFUSED = [
  ["en", "", "empty"],
  ["de", " \u00a0\t\n", "empty"],
  ["en", "1e5", "characters"],
  ["en", "0x10", "characters"],
  ["en", "Infinity", "characters"],
  ["en", "NaN", "characters"],
  ["en", "about 5", "characters"],
  ["en", "50%", "characters"],
  ["de", "5 \u20ac", "characters"],
  ["en", "--5", "characters"],
  ["en", "5-", "characters"],
  ["en", "- 5", "separators"],
  ["en", "-", "characters"],
  ["en", ".", "characters"],
  ["en", "\u0665", "characters"],
  ["en", "1_000", "characters"],
  ["en", "12 34", "separators"],
  ["en", "1,2,3", "separators"],
  ["en", "1,5", "separators"],
  ["en", "1.2.3", "separators"],
  ["en", "1.234,5", "separators"],
  ["de", "1.5", "separators"],
  ["de", "0.123", "separators"],
  ["en", "0,123", "separators"],
  ["en", "5.", "separators"],
  ["en", "1,234 567", "separators"],
  ["en", "1234,567", "separators"],
  ["en", ",234", "separators"],
  ["en", "1,,234", "separators"],
  ["en", "1,234.567,8", "separators"],
  ["en", "1'234", "separators"],
  ["de", "1.234.56", "separators"],
  ["en", "1234567890123456", "digits"],
  ["en", "0.1234567890123456", "digits"],
  ["en", `1${"0".repeat(400)}`, "digits"],
];

for (const [language, text, value] of READ) {
  test(`${JSON.stringify(text)} in ${language} is ${value}`, () => {
    assert.deepEqual(parseNumber(text, language), { value });
  });
}

for (const [language, text, reason] of REFUSED) {
  test(`${JSON.stringify(text.slice(0, 30))} in ${language} is refused: ${reason}`, () => {
    assert.deepEqual(parseNumber(text, language), { reason });
  });
}

test("three digits behind a decimal mark may be thousands", () => {
  assert.deepEqual(parseNumber("1.234", "en"), { value: 1.234, both: [1234, 1.234] });
  assert.deepEqual(parseNumber("1,234", "de"), { value: 1.234, both: [1234, 1.234] });
  assert.deepEqual(parseNumber("-54.000", "en"), { value: -54, both: [-54000, -54] });
});

test("another language may have another decimal mark", () => {
  assert.deepEqual(parseNumber("1,234", "en", "de"), { value: 1234, both: [1234, 1.234] });
  assert.deepEqual(parseNumber("1.234", "de", "en-US"), { value: 1234, both: [1234, 1.234] });
  assert.deepEqual(parseNumber("1,234.5", "en", "de"), { value: 1234.5 });
  assert.deepEqual(parseNumber("1 234", "en", "fr"), { value: 1234 });
});

test("up to 15 digits come back as they were typed", () => {
  for (let k = 0; k < 2000; k++) {
    const digits = 1 + (k % 15);
    const text = String(Math.floor((k * 0.6180339887 % 1) * 10 ** digits));
    const read = parseNumber(text, "en");
    assert.equal("value" in read ? String(read.value) : "", text);
  }
});
