import { markerOf } from "../marker.ts";
import { changeRuns, charSet, type RunShape, WORD_CHARS } from "./long-run.ts";
import type { TextRule } from "./rule.ts";
import { KNOWN_TOKENS } from "./token-formats.ts";

/** Long enough for every known format; prose has few such runs, so the many formats are tried seldom. */
const LONG: RunShape = { set: charSet(`${WORD_CHARS}.`), shortest: 15 };
const FORMATS = new RegExp(
  `(?<![A-Za-z0-9])(?:${KNOWN_TOKENS.map(([type, ...formats]) => `(?<${type}>${formats.join("|")})`).join("|")})`,
  "g",
);

/** Tokens whose issuers mark them with a prefix of their own. */
export const knownTokens: TextRule = (text) => changeRuns(text, LONG, withoutTokens);

/** Every prefix has another letter than digests and UUIDs have; and markers are done with. */
const NO_PREFIX = /^(?:[0-9a-fA-F.-]+$|REDACTED_)/;

function withoutTokens(run: string): string {
  if (NO_PREFIX.test(run)) return run;
  return run.replace(FORMATS, (...match) => {
    const groups = match.at(-1) as Record<string, string | undefined>;
    return markerOf(Object.keys(groups).find((type) => groups[type] !== undefined) ?? "TOKEN");
  });
}

const JWT = /eyJ[\w-]*(?:\.[\w-]*)*/g;
const HAS_JWT = /eyJ/;
const JWT_SHAPE = /^eyJ[\w-]{8,}\.[\w-]{4,}/;

/** JSON Web Tokens, also cut off after the claims. */
export const jsonWebTokens: TextRule = (text) => {
  if (!HAS_JWT.test(text)) return text;
  return text.replace(JWT, (token) => (JWT_SHAPE.test(token) ? markerOf("JWT") : token));
};
