import type { Hiding } from "../hiding.ts";
import { markerOf } from "../marker.ts";
import { AFTER_ESCAPE } from "./escapes.ts";
import { type Cut, cutOut, type TextRule } from "./rule.ts";

/** From the sign outwards: looking back first would cost at every letter of every word. */
const EMAIL =
  /(?:@|%40)(?<=(?<local>[\p{L}\p{N}_.+'-]{1,64})(?:@|%40))(?:[\p{L}\p{N}][\p{L}\p{N}-]{0,62}\.){1,8}(?<top>\p{L}{2,24})(?![\p{L}\p{N}])/gu;
/** `icon@2x.png` */
const SCALED_IMAGE = /^@\d(?:\.\d)?x\./;

/** Addresses of people; not `git@host:path` and `ssh://user@host`, which are addresses of machines. */
export function emails(hiding: Hiding): TextRule {
  return (text) =>
    text.includes("@") || text.includes("%40") ? cutOut(text, mailboxes(text, hiding)) : text;
}

function* mailboxes(text: string, hiding: Hiding): Generator<Cut> {
  for (const { 0: found, index, groups } of text.matchAll(EMAIL)) {
    const local = (groups?.local ?? "").replace(/^[^\p{L}\p{N}_]+/u, "");
    const end = index + found.length;
    const start = index - local.length;
    const isHost = text.startsWith("://", start - 3) || (local === "git" && text.charAt(end) === ":");
    if (local === "" || isHost || SCALED_IMAGE.test(found)) continue;
    if (hiding.part(text, { start, end })) yield { start, end, marker: markerOf("EMAIL") };
  }
}

const SSN = new RegExp(
  `(?:(?<![\\w-])|${AFTER_ESCAPE})(?!000|666|9)\\d{3}([- ])(?!00)\\d{2}\\1(?!0000)\\d{4}(?![\\w-])`,
  "g",
);

/** Without the looking around that makes the pattern slow on text that has no such number. */
const SSN_LIKE = /\d{3}[- ]\d{2}[- ]\d{4}/;

/** United States social security numbers, written with their separators. */
export const socialSecurityNumbers: TextRule = (text) =>
  SSN_LIKE.test(text) ? text.replace(SSN, markerOf("SSN")) : text;

const PHONE =
  /(?<![\w.+-])(?:\+\d{1,3}[ .-]?(?:\(\d{1,4}\)[ .-]?)?\d{1,4}(?:[ .-]?\d{2,4}){1,4}|(?:1[ .-])?(?:\(\d{3}\) ?|\d{3}[ .-])\d{3}[ .-]\d{4})(?![\w-]|\.\d)/g;

/** Telephone numbers: international ones with a plus, and North American ones. */
export const phones: TextRule = (text) => text.replace(PHONE, markerOf("PHONE"));

const OCTET = "(?:25[0-5]|2[0-4]\\d|1?\\d?\\d)";
const IPV4 = new RegExp(`(?<![\\w.])(?:${OCTET}\\.){3}${OCTET}(?![\\w]|\\.\\d)`, "g");

/** IPv4 addresses. */
export const ipAddresses: TextRule = (text) => text.replace(IPV4, markerOf("IPV4"));
