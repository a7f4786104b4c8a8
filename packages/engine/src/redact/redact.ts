import { type JsonValue, parseJson } from "@sallyport/protocol";
import { addresses, authorizations, SCHEME_WORD } from "./addresses.ts";
import { fieldJudge } from "./field-name.ts";
import {
  applyRule,
  HideRules,
  holdsCode,
  type Purpose,
  type RuleContext,
  type TextRule,
} from "./hide-rules.ts";
import { type Criteria, GIVEN_UP, type JudgedName, redactJson, redactShallow } from "./json.ts";
import { toLogValue } from "./log-value.ts";
import { elementValues, flagValues, namedValues, userPasswords } from "./pairs.ts";
import { cards, emails, ipAddresses, phones, socialSecurityNumbers } from "./personal.ts";
import { charSet, hasRun, markerOf, matches, WORD_CHARS } from "./text.ts";
import { awsSecretKeys, knownTokens, longKeys, privateKeys } from "./tokens.ts";

export type { Purpose } from "./hide-rules.ts";

/**
 * `secrets`: credentials, cards and social security numbers. `balanced`: email addresses too. `strict`: telephone
 * numbers and IPv4 addresses too, which are ordinary arguments of many tools.
 */
type Profile = "secrets" | "balanced" | "strict";

/** One more thing to take out of text, replaced by `[REDACTED_<type>]`. */
interface ExtraPattern {
  /** Capital letters, digits and underscores. */
  type: string;
  pattern: RegExp;
}

export interface RedactorOptions {
  /** What is looked for; `balanced` unless said. */
  profile?: Profile;
  /** For whom; `record` unless said. For a `decision` a person sees whatever could run, secret or not. */
  purpose?: Purpose;
  /** Names of fields that are secret here too, in any case and with any separator. */
  extraFields?: readonly string[];
  /** More to look for in text; they must not match markers. A slow pattern makes every call slow. */
  extraPatterns?: readonly ExtraPattern[];
}

/** Takes secrets out. All three are total and give the same result when given it again. */
export interface Redactor {
  /** The value as it may be kept; the same value when there was nothing to take out. */
  redact(value: JsonValue): JsonValue;
  /** The text as it may be kept. */
  redactText(text: string): string;
  /** Anything at all as JSON that may be logged; never throws. */
  redactLog(value: unknown): JsonValue;
}

/**
 * Calls use the same few names over and over, and every field of every input is judged by its name. A known name costs
 * one lookup; no order of use is kept.
 */
const MOST_NAMES = 2_000;
const LONGEST_NAME = 64;

/** A redactor of its own. Throws a TypeError when the type of an extra pattern is malformed. */
export function createRedactor(options: RedactorOptions = {}): Redactor {
  const { profile = "balanced", purpose = "record", extraPatterns = [] } = options;
  const hide = new HideRules(purpose);
  const judge = fieldJudge(options.extraFields);
  const names = new Map<string, JudgedName>();
  const rules = [...extraPatterns.map(extraRule), ...textRules(profile)];
  const mayHold = extraPatterns.length === 0 ? mayHoldSecret(profile) : () => true;
  const redactText = (text: string): string => {
    if (!mayHold(text)) return text;
    return redactEmbedded(text, criteria) ?? applyRules(text, rules, context);
  };
  const context: RuleContext = { judge, hide, isHarmless: (text) => redactText(text) === text };
  const judgeName = (name: string): JudgedName => {
    const known = names.get(name);
    if (known) return known;
    // Judged as shown, so that the result is judged the same.
    const shown = redactText(name);
    const judged = { kind: judge(shown), shown };
    // A name that held a secret is not kept in memory.
    if (shown !== name || name.length > LONGEST_NAME) return judged;
    if (names.size >= MOST_NAMES) names.clear();
    names.set(name, judged);
    return judged;
  };
  const criteria: Criteria = { text: redactText, hide, name: judgeName };
  const redact = (value: JsonValue) => redactJson(value, criteria);
  return { redact, redactText, redactLog: (value) => redact(toLogValue(value)) };
}

/**
 * The rules in the order in which they are applied: the widest and surest first, and names last, because a value whose
 * name is secret goes as a whole, with any markers in it.
 */
function textRules(profile: Profile): TextRule[] {
  return [
    privateKeys,
    awsSecretKeys,
    addresses,
    knownTokens,
    authorizations,
    longKeys,
    ...(profile === "secrets" ? [] : [emails]),
    socialSecurityNumbers,
    cards,
    ...(profile === "strict" ? [phones, ipAddresses] : []),
    elementValues,
    userPasswords,
    flagValues,
    namedValues,
  ];
}

/** An own pattern as a rule; for a decision it hides nothing that could run. */
function extraRule({ type, pattern }: ExtraPattern): TextRule {
  if (!/^[A-Z0-9_]{1,40}$/.test(type))
    throw new TypeError(`A redaction type is made of A-Z, 0-9 and _: ${JSON.stringify(type)}`);
  const everywhere = new RegExp(pattern.source, `${pattern.flags.replaceAll(/[gy]/g, "")}g`);
  return {
    sign: { test: () => true },
    *cuts(text, { hide }) {
      for (const cut of matches(text, everywhere, markerOf(type)))
        if (hide.purpose === "record" || !holdsCode(text.slice(cut.start, cut.end))) yield cut;
    },
  };
}

/** A cut may expose a secret to another rule. No text is known that needs more rounds. */
const MOST_ROUNDS = 4;

function applyRules(given: string, rules: readonly TextRule[], context: RuleContext): string {
  let text = given;
  for (let round = 0; round < MOST_ROUNDS; round += 1) {
    const before = text;
    for (const rule of rules) text = applyRule(text, rule, context);
    if (text === before) break;
  }
  return text;
}

/** `pin=1`; with fewer characters there is no secret. */
const SHORTEST_SECRET = 5;
/** Scheme words are searched apart from these: one pattern for both is many times slower than two. */
const SIGNS = /[@=:%]|--|<\/|\d[\d -]{7}/;
const STRICT_SIGNS = /[@=:%\d]|--|<\//;
/** The shortest tokens of a known format have fifteen characters. */
const SHORTEST_TOKEN = 15;
const TOKEN_LIKE = hasRun({ set: charSet(WORD_CHARS), shortest: SHORTEST_TOKEN });

/** Quick test whether any rule of the profile could find something. False is certain; most texts end here. */
function mayHoldSecret(profile: Profile): (text: string) => boolean {
  const signs = profile === "strict" ? STRICT_SIGNS : SIGNS;
  return (text) => text.length >= SHORTEST_SECRET && (signs.test(text) || hasToken(text)) && !isDigest(text);
}

function hasToken(text: string): boolean {
  return text.length >= SHORTEST_TOKEN && (SCHEME_WORD.test(text) || TOKEN_LIKE.test(text));
}

/** Digests and UUIDs are many, and no rule takes them; digits without a letter may be something else. */
function isDigest(text: string): boolean {
  return /^[0-9a-fA-F-]+$/.test(text) && /[a-fA-F]/.test(text);
}

/** Longer texts are searched by pattern only: parsing them would cost more than it finds. */
const LONGEST_JSON = 64 * 1024;

/**
 * A text that is a JSON object or array, redacted as such, so that its field names count; itself when there was nothing
 * to take out, undefined when it is no such text. Redacted JSON is written anew, without its spaces.
 */
function redactEmbedded(text: string, criteria: Criteria): string | undefined {
  if (text.length >= LONGEST_JSON || !looksLikeJson(text)) return undefined;
  const value = parseJson(text);
  if (value === undefined || (criteria.hide.purpose === "decision" && !isRewritable(text, value)))
    return undefined;
  const kept = redactShallow(value, criteria);
  if (kept === GIVEN_UP) return undefined;
  return kept === value ? text : JSON.stringify(kept);
}

/**
 * Whether the parsed and rewritten text keeps everything: a duplicate name would be lost, and so would line ends, after
 * which a shell runs the next command.
 */
function isRewritable(text: string, value: JsonValue): boolean {
  if (/[\n\r]/.test(text)) return false;
  return text.replaceAll(/("(?:[^"\\]|\\.)*")|\s+/g, "$1") === JSON.stringify(value);
}

function looksLikeJson(text: string): boolean {
  const trimmed = text.trim();
  const ends = trimmed.charAt(0) + trimmed.charAt(trimmed.length - 1);
  return ends === "{}" || ends === "[]";
}

const balanced = createRedactor();

/**
 * For what a person decides on: summaries, arguments and differences in a question. Hides secrets as the others do, but
 * nothing that could run (FR-APR-01). What it gives is for that person, and not for logs.
 */
export const forDecision: Redactor = createRedactor({ purpose: "decision" });

/**
 * The value as it may be kept: secret fields and text that looks like a secret replaced by markers, itself when there
 * was none. Total, and cheap enough for every input of every call.
 */
export const redact: (value: JsonValue) => JsonValue = balanced.redact;

/** The text with everything that looks like a secret taken out; itself when there was nothing. Total. */
export const redactText: (text: string) => string = balanced.redactText;

/** A text of a person or a tool as an event or a failure may hold it: without credentials, cut, and well-formed. */
export function boundedText(text: string, maxChars: number): string {
  return redactText(text).slice(0, maxChars).toWellFormed();
}

/** Anything at all as JSON that may be logged: cyclic, deep, exotic or hostile values too. Never throws. */
export const redactLog: (value: unknown) => JsonValue = balanced.redactLog;
