import type { FieldJudge } from "../field-name.ts";
import type { Hiding } from "../hiding.ts";
import { markerOf } from "../marker.ts";
import { authorizations, SCHEME_WORD } from "./authorization.ts";
import { awsSecretKeys } from "./aws.ts";
import { cards } from "./card.ts";
import { elementValues } from "./element.ts";
import { flagValues } from "./flag.ts";
import { knownTokens } from "./known-token.ts";
import { longKeys } from "./long-key.ts";
import { charSet, nextRun, type RunShape, WORD_CHARS } from "./long-run.ts";
import { namedValues } from "./pair.ts";
import { emails, ipAddresses, phones, socialSecurityNumbers } from "./personal.ts";
import { privateKeys } from "./private-key.ts";
import type { TextRule } from "./rule.ts";
import { holdsCode } from "./shell-signs.ts";
import { addresses } from "./url.ts";

/**
 * `secrets`: credentials, cards and social security numbers. `balanced`: email addresses too. `strict`: telephone
 * numbers and IPv4 addresses too, which are ordinary arguments of many tools.
 */
export type Profile = "secrets" | "balanced" | "strict";

/** One more thing to take out of text, replaced by `[REDACTED_<type>]`. */
export interface ExtraPattern {
  /** Capital letters, digits and underscores. */
  type: string;
  pattern: RegExp;
}

/** Whether any rule of the profile could find something; a no is sure, and quick for most texts. */
export function mayHoldSecret(profile: Profile): TextTest {
  const signs = profile === "strict" ? STRICT_SIGNS : SIGNS;
  return (text) => text.length >= SHORTEST_SECRET && (signs.test(text) || hasToken(text)) && !isDigest(text);
}

/** `pin=1`; with fewer characters there is no secret. */
const SHORTEST_SECRET = 5;

function hasToken(text: string): boolean {
  if (text.length < TOKEN_LIKE.shortest) return false;
  return SCHEME_WORD.test(text) || nextRun(text, TOKEN_LIKE) !== -1;
}

/** Digests and UUIDs are many, and no rule takes them; digits without a letter may be something else. */
function isDigest(text: string): boolean {
  return /^[0-9a-fA-F-]+$/.test(text) && /[a-fA-F]/.test(text);
}

export type TextTest = (text: string) => boolean;

/** Apart from the words looked for as well: one pattern for both is many times slower than two. */
const SIGNS = /[@=:%]|--|<\/|\d[\d -]{7}/;
const STRICT_SIGNS = /[@=:%\d]|--|<\//;
/** The shortest tokens of a known format have fifteen characters. */
const TOKEN_LIKE: RunShape = { set: charSet(WORD_CHARS), shortest: 15 };

export interface RuleOptions {
  profile: Profile;
  judge: FieldJudge;
  hiding: Hiding;
  /** Whether a text holds nothing to take out. */
  isHarmless: (text: string) => boolean;
}

/**
 * The rules in the order in which they are applied: the widest and surest first, and names last, because a value whose
 * name is secret goes as a whole, with any markers in it.
 */
export function textRules({ profile, judge, hiding, isHarmless }: RuleOptions): TextRule[] {
  return [
    privateKeys(hiding),
    awsSecretKeys,
    addresses(hiding),
    knownTokens,
    authorizations(hiding),
    longKeys(isHarmless),
    ...(profile === "secrets" ? [] : [emails(hiding)]),
    socialSecurityNumbers,
    cards,
    ...(profile === "strict" ? [phones, ipAddresses] : []),
    elementValues(judge, hiding),
    flagValues(judge, hiding),
    namedValues(judge, hiding),
  ];
}

/** An own pattern as a rule; for a decision it hides nothing that could run. Throws a TypeError when its type cannot be part of a marker. */
export function extraRule({ type, pattern }: ExtraPattern, { purpose }: Hiding): TextRule {
  if (!/^[A-Z0-9_]{1,40}$/.test(type))
    throw new TypeError(`A redaction type is made of A-Z, 0-9 and _: ${JSON.stringify(type)}`);
  const flags = pattern.flags.replaceAll(/[gy]/g, "");
  const everywhere = new RegExp(pattern.source, `${flags}g`);
  const mayHide = (found: string) => found !== "" && (purpose === "record" || !holdsCode(found));
  return (text) => text.replace(everywhere, (found) => (mayHide(found) ? markerOf(type) : found));
}
