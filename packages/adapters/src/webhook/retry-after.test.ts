import { expect, it } from "vitest";
import { readRetryAfter } from "./retry-after.ts";

const NOW = Date.UTC(2026, 0, 1);

it.each([
  ["0", 0],
  ["120", 120_000],
  ["Thu, 01 Jan 2026 00:01:00 GMT", 60_000],
  ["Wed, 31 Dec 2025 23:00:00 GMT", 0],
  ["999999999", 86_400_000],
  ["Fri, 01 Jan 2027 00:00:00 GMT", 86_400_000],
])("%j asks for %i ms", (text, ms) => {
  expect(readRetryAfter(text, NOW)).toBe(ms);
});

it.each([
  undefined,
  "",
  "soon",
  "-1",
  "1.5",
  "1e9",
  "0x10",
  "2026-01-01",
  "Thu, 99 Jan 2026 00:00:00 GMT",
  "9".repeat(30),
])("%j asks for nothing", (text) => {
  expect(readRetryAfter(text, NOW)).toBeUndefined();
});
