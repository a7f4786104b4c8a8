import { markerOf } from "../marker.ts";
import { changeRuns, charSet, type RunShape, WORD_CHARS } from "./long-run.ts";
import type { TextRule } from "./rule.ts";
import { KNOWN_TOKENS } from "./token-formats.ts";

/** Long enough for every known format; prose has few such runs, so the many formats are tried seldom. */
const LONG: RunShape = { set: charSet(`${WORD_CHARS}.`), shortest: 15 };
const BEGINNING = new RegExp(
  `(?<![A-Za-z0-9])(?:${KNOWN_TOKENS.map(([type, ...kinds]) => `(?<${type}>${kinds.join("|")})`).join("|")})`,
);
/** Every beginning has another letter than digests and UUIDs have; and markers are done with. */
const NO_TOKEN = /^(?:[0-9a-fA-F.-]+$|REDACTED_)/;

/** Tokens whose issuers mark them with a prefix of their own, and JSON Web Tokens. */
export const knownTokens: TextRule = (text) =>
  changeRuns(text, LONG, (run) => {
    if (NO_TOKEN.test(run)) return run;
    const token = beginningOf(run) ?? webTokenIn(run);
    return token ? run.slice(0, token.at) + markerOf(token.type) + trailingDots(run) : run;
  });

interface Found {
  at: number;
  type: string;
}

function beginningOf(run: string): Found | undefined {
  const found = BEGINNING.exec(run);
  if (!found) return undefined;
  const type = Object.entries(found.groups ?? {}).find(([, token]) => token !== undefined)?.[0];
  return { at: found.index, type: type ?? "API_TOKEN" };
}

const SHORTEST_HEADER = 11;
const SHORTEST_CLAIMS = 4;

/** A header in Base64 (it begins with `{"`), a dot, and claims; the signature may be missing. */
function webTokenIn(run: string): Found | undefined {
  for (let at = run.indexOf("eyJ"); at !== -1; ) {
    const dot = run.indexOf(".", at);
    if (dot === -1 || dot + SHORTEST_CLAIMS >= run.length) return undefined;
    if (dot - at >= SHORTEST_HEADER) return { at, type: "JWT" };
    at = run.indexOf("eyJ", dot);
  }
  return undefined;
}

/** They end the sentence, not the token. */
function trailingDots(run: string): string {
  return /\.{0,8}$/.exec(run.slice(-8))?.[0] ?? "";
}
