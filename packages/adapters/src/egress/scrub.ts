import { Transform } from "node:stream";

/** Shorter ones occur by chance: masking them would break answers and hide little. */
const SHORTEST = 4;
const MASK = "*";

/**
 * Masks a secret in answers, as it was sent and in the usual encodings (D-16). The mask is as long as what it replaces, so
 * the length of an answer holds. What upstream turns into something else (a digest, another charset) cannot be found.
 */
export class Scrub {
  readonly #patterns: Buffer[];

  /** `value` is the header that carries the secret. */
  constructor(secret: string, value: string) {
    const bare = value.slice(value.indexOf(" ") + 1);
    const forms = [secret, bare, value].flatMap(encodings);
    this.#patterns = [...new Set(forms)]
      .filter((form) => form.length >= SHORTEST)
      .map((form) => Buffer.from(form));
  }

  /** Header values and the like, as Node gives them: one character a byte. */
  text(text: string): string {
    return this.bytes(Buffer.from(text, "latin1")).toString("latin1");
  }

  bytes(raw: Buffer): Buffer {
    return this.mask(raw, Buffer.from(raw));
  }

  /** Masks in `shown` what is found in `raw`. */
  mask(raw: Buffer, shown: Buffer): Buffer {
    for (const pattern of this.#patterns)
      for (let at = raw.indexOf(pattern); at !== -1; at = raw.indexOf(pattern, at + 1))
        shown.fill(MASK, at, at + pattern.length);
    return shown;
  }

  /** How many of the last bytes may be the beginning of a secret that goes on in the next piece. */
  unfinished(raw: Buffer): number {
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
        shown = this.mask(raw, Buffer.concat([shown, chunk]));
        const ready = raw.length - this.unfinished(raw);
        const out = shown.subarray(0, ready);
        raw = raw.subarray(ready);
        shown = shown.subarray(ready);
        done(null, out);
      },
      flush: (done) => done(null, shown),
    });
  }
}

/** Encoders differ in what they escape besides the necessary, and in the case of their hexadecimal digits. */
function encodings(text: string): string[] {
  const json = JSON.stringify(text).slice(1, -1);
  const escaped = [/[<>&]/g, /[<>&'=]/g, /\\?["<>&'+`]/g].map((set) => json.replace(set, unicodeEscape));
  const html = text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
  const quotes = ['"', "&quot;", "&#34;"].map((quote) => html.replaceAll('"', quote));
  const form = new URLSearchParams({ "": text }).toString().slice(1);
  const strict = encodeURIComponent(text).replace(/[!'()*]/g, percentEscape);
  const url = [encodeURIComponent(text), form, strict, strict.replaceAll("%2F", "/")];
  const hex = Buffer.from(text).toString("hex");
  return [
    ...[text, json, json.replaceAll("/", "\\/"), hex, hex.toUpperCase()],
    ...escaped.flatMap((one) => [
      one,
      one.replace(/\\u..../g, (code) => `\\u${code.slice(2).toUpperCase()}`),
    ]),
    ...url.flatMap((one) => [one, one.replace(/%../g, (code) => code.toLowerCase())]),
    ...["'", "&#39;", "&#039;", "&#x27;"].flatMap((quote) => quotes.map((one) => one.replaceAll("'", quote))),
    ...(["base64", "base64url"] as const).flatMap((coding) => base64Forms(text, coding)),
  ];
}

function unicodeEscape(character: string): string {
  return `\\u${character
    .charCodeAt(character.length - 1)
    .toString(16)
    .padStart(4, "0")}`;
}

function percentEscape(character: string): string {
  return `%${character.charCodeAt(0).toString(16).toUpperCase()}`;
}

/** By itself, and inside of something longer: there only the digits that nothing before or after it changes. */
function base64Forms(text: string, coding: "base64" | "base64url"): string[] {
  const inside = [0, 1, 2].map((before) => {
    const bytes = Buffer.concat([Buffer.alloc(before), Buffer.from(text)]);
    return bytes.toString(coding).slice(Math.ceil((before * 8) / 6), Math.floor((bytes.length * 8) / 6));
  });
  return [Buffer.from(text).toString(coding), ...inside];
}
