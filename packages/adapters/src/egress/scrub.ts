import { Transform } from "node:stream";

/** Shorter ones occur by chance: masking them would break answers and hide little. */
const SHORTEST = 4;
const MASK = "*";

/** Characters that a body may write by name, each behind its name. */
const NAMED: Readonly<Record<string, string>> = Object.fromEntries(
  [
    `amp& lt< gt> quot" apos' plus+ equals= sol/ bsol\\ colon: comma, period. lowbar_ hyphen- dash- excl! num# dollar$ percnt%`,
    `ast* lpar( rpar) semi; quest? commat@ lsqb[ rsqb] lbrack[ rbrack] Hat^ grave\` lcub{ rcub} lbrace{ rbrace} verbar| vert|`,
  ].flatMap((line) => line.split(" ").map((named) => [named.slice(0, -1), named.slice(-1)])),
);
/** How a character is written as something longer, by what that begins with; a text in a text is escaped again. */
const WRITTEN: Readonly<Record<string, readonly { as: RegExp; means(found: string): string | undefined }[]>> =
  {
    "%": [/%(?:25){0,3}([0-9a-f]{2})/iy, /%([0-9a-f]{2})/iy].map((as) => ({
      as,
      means: (hex) => String.fromCharCode(Number.parseInt(hex, 16)),
    })),
    "&": [
      { as: /&(?:amp;){0,3}#0{0,8}(\d{1,7});?/y, means: (digits) => bytesOf(Number.parseInt(digits, 10)) },
      { as: /&(?:amp;){0,3}#x0{0,8}([0-9a-f]{1,6});?/iy, means: (hex) => bytesOf(Number.parseInt(hex, 16)) },
      { as: /&(?:amp;){0,3}([a-z]{2,6});/iy, means: (name) => NAMED[name] },
      { as: /&([a-z]{2,6});/iy, means: (name) => NAMED[name] },
    ],
    "\\": [
      { as: /\\{1,8}u([0-9a-f]{4})/iy, means: (hex) => bytesOf(Number.parseInt(hex, 16)) },
      { as: /\\{1,8}x([0-9a-f]{2})/iy, means: (hex) => bytesOf(Number.parseInt(hex, 16)) },
      { as: /\\{1,8}([^a-z0-9\\])/iy, means: (character) => character },
      { as: /\\([^a-z0-9])/iy, means: (character) => character },
    ],
    "+": [{ as: /\+/y, means: () => " " }],
  };
/** The same cut short by the end of what has come so far. */
const CUT =
  /(?:%(?:25){0,3}[0-9a-f]?|&(?:amp;){0,3}(?:#(?:x?[0-9a-f]{0,14})?|[a-z]{0,6})|\\{1,8}(?:u[0-9a-f]{0,3}|x[0-9a-f]?)?)$/iy;

/** A character as UTF-8, one character a byte. */
function bytesOf(code: number): string | undefined {
  return code > 0x10_ffff ? undefined : Buffer.from(String.fromCodePoint(code)).toString("latin1");
}

/**
 * Where a text that begins at `at` ends, however its characters are written (JSON, HTML, URL, mixed); undefined when it is
 * not there, and `cut` when all that has come so far may be its beginning.
 */
function endOf(text: string, body: string, from: number): number | "cut" | undefined {
  let [at, known] = [from, 0];
  while (known < text.length && body[at] === text[known] && !((text[known] ?? "") in WRITTEN)) {
    at += 1;
    known += 1;
  }
  const wanted = text.slice(known);
  if (wanted === "") return at;
  if (at >= body.length) return "cut";
  const plain = body[at] === wanted[0] ? endOf(wanted.slice(1), body, at + 1) : undefined;
  const ways = WRITTEN[body[at] ?? ""];
  if (plain !== undefined || !ways) return plain;
  for (const { as, means } of ways) {
    as.lastIndex = at;
    const found = as.exec(body);
    const bytes = found && means(found[1] ?? "");
    if (bytes && wanted.startsWith(bytes))
      return endOf(wanted.slice(bytes.length), body, at + found[0].length);
  }
  CUT.lastIndex = at;
  return CUT.test(body) ? "cut" : undefined;
}

/** Finds every place where a text may begin, fast: by its first two characters, in any writing. */
function startOf(text: string): RegExp {
  const first = Array.from(text.slice(0, 2), (character) => {
    const code = character.charCodeAt(0);
    const hex = code.toString(16).padStart(2, "0");
    const names = Object.keys(NAMED).filter((name) => NAMED[name] === character);
    const entities = code < 0x80 ? [`#0*${code}`, `#x0*${hex}`, ...names] : ["#?[a-z0-9]+"];
    const escapes = code < 0x80 ? [`u00${hex}`, `x${hex}`, `\\x${hex}`] : ["[ux][0-9a-f]+"];
    const written = [
      `%(?:25){0,3}${hex}`,
      `&(?:amp;){0,3}(?:${entities.join("|")})`,
      `\\\\{1,8}(?:${escapes.join("|")})`,
    ];
    return `(?:${[`\\x${hex}`, ...written, ...(character === " " ? ["\\+"] : [])].join("|")});?`;
  });
  return new RegExp(first.join(""), "gi");
}

/** More than any writing of two characters takes. */
const LONGEST_START = 96;

/**
 * Masks a secret in answers, however its characters are written, and in base64 and hexadecimal (D-16). The mask is as long
 * as what it replaces, so the length of an answer holds. What upstream turns into something else (a digest, another
 * charset) cannot be found.
 */
export class Scrub {
  readonly #patterns: Buffer[];
  readonly #texts: { text: string; start: RegExp }[];

  /** `value` is the header that carries the secret. */
  constructor(secret: string, value: string) {
    const bare = value.slice(value.indexOf(" ") + 1);
    const forms = [...new Set([secret, bare, value])].filter((form) => form.length >= SHORTEST);
    const texts = forms.map((form) => Buffer.from(form).toString("latin1"));
    this.#texts = texts.map((text) => ({ text, start: startOf(text) }));
    this.#patterns = [...new Set(forms.flatMap(encodings))].map((form) => Buffer.from(form));
  }

  /** Header values and the like, as Node gives them: one character a byte. */
  text(text: string): string {
    return this.bytes(Buffer.from(text, "latin1")).toString("latin1");
  }

  bytes(raw: Buffer): Buffer {
    const shown = Buffer.from(raw);
    this.#mask(raw, shown);
    return shown;
  }

  /** Masks in `shown` what is found in `raw`. Returns how many of the first bytes no secret can begin in any more. */
  #mask(raw: Buffer, shown: Buffer): number {
    for (const pattern of this.#patterns)
      for (let at = raw.indexOf(pattern); at !== -1; at = raw.indexOf(pattern, at + 1))
        shown.fill(MASK, at, at + pattern.length);
    let ready = raw.length - this.#unfinished(raw);
    const body = raw.toString("latin1");
    for (const { text, start } of this.#texts) {
      const look = (at: number): void => {
        const end = endOf(text, body, at);
        if (end === "cut") ready = Math.min(ready, at);
        else if (end !== undefined) shown.fill(MASK, at, end);
      };
      start.lastIndex = 0;
      for (let found = start.exec(body); found; found = start.exec(body)) {
        look(found.index);
        start.lastIndex = found.index + 1;
      }
      for (let at = Math.max(0, body.length - LONGEST_START); at < body.length; at += 1) look(at);
    }
    return ready;
  }

  /** How many of the last bytes may be the beginning of a pattern that goes on in the next piece. */
  #unfinished(raw: Buffer): number {
    const longest = Math.max(0, ...this.#patterns.map(({ length }) => length - 1));
    for (let size = Math.min(longest, raw.length); size > 0; size -= 1) {
      const tail = raw.subarray(raw.length - size);
      if (this.#patterns.some((one) => one.length > size && one.subarray(0, size).equals(tail))) return size;
    }
    return 0;
  }

  /** The same for a body, across its pieces. Holds back only what may be the beginning of a secret. */
  stream(): Transform {
    let raw: Buffer = Buffer.alloc(0);
    // Kept beside the bytes themselves: what is masked stays so when only its end is held back.
    let shown: Buffer = Buffer.alloc(0);
    return new Transform({
      transform: (chunk: Buffer, _, done) => {
        raw = Buffer.concat([raw, chunk]);
        shown = Buffer.concat([shown, chunk]);
        const ready = this.#mask(raw, shown);
        const out = shown.subarray(0, ready);
        raw = raw.subarray(ready);
        shown = shown.subarray(ready);
        done(null, out);
      },
      flush: (done) => done(null, shown),
    });
  }
}

/** What is found as it stands: encodings of the whole. */
function encodings(text: string): string[] {
  const hex = Buffer.from(text).toString("hex");
  const base64 = (["base64", "base64url"] as const).flatMap((coding) => base64Forms(text, coding));
  return [hex, hex.toUpperCase(), ...base64].filter((form) => form.length >= SHORTEST);
}

/** By itself, and inside of something longer: there only the digits that nothing before or after it changes. */
function base64Forms(text: string, coding: "base64" | "base64url"): string[] {
  const inside = [0, 1, 2].map((before) => {
    const bytes = Buffer.concat([Buffer.alloc(before), Buffer.from(text)]);
    return bytes.toString(coding).slice(Math.ceil((before * 8) / 6), Math.floor((bytes.length * 8) / 6));
  });
  return [Buffer.from(text).toString(coding), ...inside];
}
