import type { TextRule } from "./hide-rules.ts";
import {
  BASE64_CHARS,
  charSet,
  hasRun,
  looksRandom,
  markerOf,
  nextRun,
  type RunShape,
  runsIn,
  type Span,
  startOfRun,
  WORD_CHARS,
} from "./text.ts";

/**
 * Types with how their tokens begin. Each looks at a bounded number of characters; where one fits, the rest of the run
 * of letters, digits, dots and dashes is taken for the token.
 */
const KNOWN_TOKENS: readonly (readonly [type: string, ...beginnings: string[]])[] = [
  ["GITHUB_TOKEN", "gh[pousr]_[A-Za-z0-9]{20}", "github_pat_\\w{20}"],
  ["GITLAB_TOKEN", "gl(?:pat|dt|rtr?|cbt|ptt|ft|soat|oas|agent|imt|ffct|wt)-[\\w-]{16}"],
  ["SLACK_TOKEN", "xox[a-z](?:\\.xox[a-z])?-[\\w-]{10}", "xapp-\\d-[\\w-]{10}"],
  ["STRIPE_KEY", "[sr]k_(?:live|test|prod)_[A-Za-z0-9]{10}", "whsec_[A-Za-z0-9]{16}"],
  ["ANTHROPIC_KEY", "sk-ant-[\\w-]{12}"],
  ["OPENAI_KEY", "sk-(?:proj|svcacct|admin|None|or-v1)-[\\w-]{16}", "sk-[\\w-]{0,16}?[A-Za-z0-9]{16}"],
  ["GOOGLE_KEY", "AIza[\\w-]{30}", "ya29\\.[\\w-]{16}", "GOCSPX-[\\w-]{20}"],
  ["NPM_TOKEN", "npm_[A-Za-z0-9]{30}"],
  ["PYPI_TOKEN", "pypi-Ag[\\w-]{30}"],
  ["SENDGRID_KEY", "SG\\.[\\w-]{16}"],
  ["TWILIO_KEY", "SK[0-9a-fA-F]{32}(?![0-9a-fA-F])"],
  ["AWS_KEY_ID", "A(?:KIA|SIA|ROA|IDA|IPA|NPA|NVA|GPA|BIA|CCA)[A-Z0-9]{16}(?![A-Za-z0-9])"],
  ["VAULT_TOKEN", "hv[sbr]\\.[\\w-]{20}"],
  ["DISCORD_TOKEN", "[MNO][\\w-]{22,27}\\.[\\w-]{6,7}\\.[\\w-]{27}"],
  [
    "API_TOKEN",
    "do[opr]_v1_[0-9a-f]{32}",
    "hf_[A-Za-z0-9]{30}",
    "dapi[0-9a-f]{32}",
    "shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}",
    "sq0(?:atp|csp|idp)-[\\w-]{20}",
    "key-[0-9a-f]{32}(?![0-9a-f])",
    "AT(?:ATT|CTT|BB)[\\w-]{20}",
    "AGE-SECRET-KEY-1[0-9A-Z]{20}",
    "(?:lin_api|ntn|figd|glc|glsa|sntry[su]|dckr_pat|rubygems|pscale_(?:tkn|pw|oauth)|gsk|r8|sbp)_[A-Za-z0-9-]{20}",
    "(?:PMAK|NRAK|pplx|xai|pul)-[A-Za-z0-9]{20}",
    "dp\\.(?:pt|st|ct|sa|scim|audit)\\.[A-Za-z0-9]{30}",
  ],
];

/** Long enough for every known format; prose has few such runs, so the many formats are tried seldom. */
const LONG: RunShape = { set: charSet(`${WORD_CHARS}.`), shortest: 15 };
const BEGINNING = new RegExp(
  `(?<![A-Za-z0-9])(?:${KNOWN_TOKENS.map(([type, ...kinds]) => `(?<${type}>${kinds.join("|")})`).join("|")})`,
);
/** Every beginning has another letter than digests and UUIDs have; and markers are done with. */
const NO_TOKEN = /^(?:[0-9a-fA-F.-]+$|REDACTED_)/;

/** Tokens whose issuers mark them with a prefix of their own, and JSON Web Tokens. */
export const knownTokens: TextRule = {
  sign: hasRun(LONG),
  *cuts(text) {
    for (const { start, end } of runsIn(text, LONG)) {
      const run = text.slice(start, end);
      const token = NO_TOKEN.test(run) ? undefined : (beginningOf(run) ?? webTokenIn(run));
      if (token)
        yield { start: start + token.at, end: end - trailingDots(run), marker: markerOf(token.type) };
    }
  },
};

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
function trailingDots(run: string): number {
  return /\.{0,8}$/.exec(run.slice(-8))?.[0].length ?? 0;
}

const AWS_LENGTH = 40;
const AWS_SECRET_KEY: RunShape = { set: charSet(BASE64_CHARS), shortest: AWS_LENGTH };

/** An AWS secret key has no sign of its own: it is known by the key id in the same text. */
export const awsSecretKeys: TextRule = {
  sign: /AKIA|ASIA|\[REDACTED_AWS_KEY_ID\]/,
  *cuts(text) {
    for (const { start, end } of runsIn(text, AWS_SECRET_KEY)) {
      const run = text.slice(start, end);
      const isKey = /[a-z]/.test(run) && /[A-Z]/.test(run) && !/^[0-9a-fA-F]+$/.test(run);
      if (run.length === AWS_LENGTH && isKey) yield { start, end, marker: markerOf("AWS_SECRET_KEY") };
    }
  },
};

const LONG_KEY: RunShape = { set: charSet(WORD_CHARS), shortest: 32 };
/** Keys are not longer; encoded data is. */
const LONGEST_KEY = 200;

/** Keys without a known prefix: long runs of letters and digits in which no word, hash, id or encoded text is seen. */
export const longKeys: TextRule = {
  sign: hasRun(LONG_KEY),
  *cuts(text, { isHarmless }) {
    for (const span of runsIn(text, LONG_KEY)) {
      const run = text.slice(span.start, span.end);
      if (run.length < LONG_KEY.shortest || run.length > LONGEST_KEY || !looksRandom(run)) continue;
      if (!isEncodedData(text, span) && !isEncodedText(run, isHarmless))
        yield { ...span, marker: markerOf("API_KEY") };
    }
  },
};

const BASE64 = charSet(`${WORD_CHARS}+/`);
/** `name=value` has more after the sign, Base64 has not. */
const TO_PADDING = /^[\w+/-]*={0,2}(?![\w=])/;
/** Known content in Base64 (PNG, JPEG, GIF, PDF, ZIP, gzip, XML, WebAssembly, WOFF) and sub-resource hashes. */
const KNOWN_DATA = /^(?:iVBORw|\/9j\/|R0lGOD|JVBERi|UEsDB|H4sI|PD94|AGFzb|d09GM|sha(?:1|256|384|512)-)/;

/** A piece of something encoded: it goes on beyond the letters and digits, ends in padding, or begins as files do. */
function isEncodedData(text: string, { start, end }: Span): boolean {
  const first = startOfRun(text, BASE64, { start: Math.max(0, start - LONGEST_KEY), end: start });
  const rest = text.slice(start, end + LONGEST_KEY);
  const whole = text.slice(first, start) + (TO_PADDING.exec(rest)?.[0] ?? rest.slice(0, end - start));
  return whole.includes("+") || whole.endsWith("=") || whole.length > LONGEST_KEY || KNOWN_DATA.test(whole);
}

/** Base64 of something readable, which is ordinary data unless it holds a secret itself. */
function isEncodedText(run: string, isHarmless: (decoded: string) => boolean): boolean {
  const decoded = Buffer.from(run, "base64url").toString("utf8");
  return /^[\t\n\r\x20-\x7e\u00a0-\ufffc]*$/.test(decoded.slice(0, -1)) && isHarmless(decoded);
}

const LABEL = "[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?-{4,5}";
const BEGIN = `-{4,5} ?BEGIN ${LABEL}`;
const END = `-{4,5} ?END ${LABEL}`;
const SHORTEST_LINE = 16;
const LINE: RunShape = { set: charSet(`${BASE64_CHARS}=`), shortest: SHORTEST_LINE };
/** A label without this near it is spoken of, in code or in prose, and has no key. */
const CONTENT: RunShape = { set: charSet(BASE64_CHARS), shortest: 24 };
const NEAR = 300;

/** PEM blocks, on several lines or with escaped line ends, also when their beginning or their end is missing. */
export const privateKeys: TextRule = {
  sign: /PRIVATE KEY/,
  *cuts(text, { hide }) {
    const marker = markerOf("PRIVATE_KEY");
    for (const { start, end } of pemBlocks(text)) {
      if (hide.purpose === "record") yield { start, end, marker };
      // Only the lines of the key go. What else stands between the labels of a block may be commands.
      else
        for (const line of runsIn(text.slice(start, end), LINE))
          yield { start: start + line.start, end: start + line.end, marker };
    }
  },
};

function* pemBlocks(text: string): Generator<Span> {
  const label = new RegExp(`${BEGIN}|${END}`, "g");
  let from = 0;
  for (let found = label.exec(text); found; found = label.exec(text)) {
    const isEnd = found[0].includes("END ");
    const after = found.index + found[0].length;
    const start = isEnd ? linesBefore(text, found.index, from) : found.index;
    if (isEnd ? start === found.index : nextRun(text.slice(after, after + NEAR), CONTENT) === -1) continue;
    const end = isEnd ? after : blockEnd(text, after);
    yield { start, end };
    from = end;
    label.lastIndex = end;
  }
}

/** Without an end the rest of the text is taken: a key cut off has no other border. */
function blockEnd(text: string, from: number): number {
  const end = new RegExp(END, "g");
  end.lastIndex = from;
  return end.test(text) ? end.lastIndex : text.length;
}

/** Where the Base64 lines that end at `end` begin; `end` when there are none. The first and last may be short. */
function linesBefore(text: string, end: number, from: number): number {
  let start = end;
  let isKey = false;
  while (start > from) {
    const lineEnd = lineBreakBefore(text, start, from);
    const lineStart = base64Before(text, lineEnd, from);
    const length = lineEnd - lineStart;
    if (length === 0) break;
    if (length < SHORTEST_LINE && start !== end && isWord(text.slice(lineStart, lineEnd))) break;
    isKey ||= length >= SHORTEST_LINE;
    start = lineStart;
  }
  return isKey ? start : end;
}

function isWord(piece: string): boolean {
  return /^[A-Z]?[a-z]*$/.test(piece);
}

function lineBreakBefore(text: string, end: number, from: number): number {
  let at = end;
  for (;;) {
    if (at > from && /\s/.test(text.charAt(at - 1))) at -= 1;
    else if (at - 1 > from && /\\[nr]/.test(text.slice(at - 2, at))) at -= 2;
    else return at;
  }
}

function base64Before(text: string, end: number, from: number): number {
  let at = end;
  while (at > from && /[A-Za-z0-9+/=]/.test(text.charAt(at - 1)) && text.charAt(at - 2) !== "\\") at -= 1;
  return at;
}
