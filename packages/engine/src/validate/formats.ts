import { domainToASCII } from "node:url";
import { fullFormats } from "ajv-formats/dist/formats.js";

type TextTest = (text: string) => boolean;

/**
 * The formats a schema may use, with the length no valid text exceeds: beyond it nothing is matched, so a long
 * text costs nothing. URIs and their kin have no such length; their expressions were measured to be linear.
 */
const MAX_LENGTHS = {
  "date-time": 64,
  date: 10,
  time: 48,
  duration: 128,
  email: 320,
  "idn-email": 320,
  hostname: 254,
  "idn-hostname": 254,
  ipv4: 15,
  ipv6: 45,
  uri: Number.POSITIVE_INFINITY,
  "uri-reference": Number.POSITIVE_INFINITY,
  "uri-template": Number.POSITIVE_INFINITY,
  iri: Number.POSITIVE_INFINITY,
  "iri-reference": Number.POSITIVE_INFINITY,
  uuid: 45,
  "json-pointer": Number.POSITIVE_INFINITY,
  "relative-json-pointer": Number.POSITIVE_INFINITY,
  regex: 4096,
};

/** The international formats are the others once what is not ASCII is written in ASCII. */
const INTERNATIONAL: Record<string, TextTest> = {
  "idn-hostname": isInternationalHost,
  "idn-email": (text) => {
    const at = text.lastIndexOf("@");
    const local = text.slice(0, at).replace(NOT_ASCII, "x");
    const host = text.slice(at + 1);
    return at > 0 && isInternationalHost(host) && checkOf("email")(`${local}@${domainToASCII(host)}`);
  },
  iri: (text) => checkOf("uri")(percentEncoded(text)),
  "iri-reference": (text) => checkOf("uri-reference")(percentEncoded(text)),
};

/** Each supported format as a function that cannot hang. */
export const FORMATS: ReadonlyMap<string, TextTest> = new Map(
  Object.entries(MAX_LENGTHS).map(([name, maxLength]) => {
    const check = INTERNATIONAL[name] ?? checkOf(name);
    return [name, (text) => text.length <= maxLength && check(text)];
  }),
);

const NOT_ASCII = /[\u{A0}-\u{D7FF}\u{E000}-\u{10FFFD}]/gu;

/** What RFC 5892 excludes, or allows only beside certain letters, and UTS 46 lets pass. */
const EXCLUDED =
  /[\u0640\u07FA\u302E\u302F\u3031-\u3035\u303B]|(?<!l)\u00B7|\u00B7(?!l)|\u0375(?!\p{Script=Greek})|(?<!\p{Script=Hebrew})[\u05F3\u05F4]/u;
const KATAKANA_DOT_ALONE =
  /^[^.\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Han}]*\u30FB[^.\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Han}]*$/u;

function isInternationalHost(text: string): boolean {
  const labels = text.split(/[.\u3002\uFF0E\uFF61]/);
  if (EXCLUDED.test(text) || labels.some((label) => KATAKANA_DOT_ALONE.test(label))) return false;
  return checkOf("hostname")(domainToASCII(text));
}

function percentEncoded(text: string): string {
  return text.replace(NOT_ASCII, encodeURIComponent);
}

function checkOf(name: string): TextTest {
  const format: unknown = Reflect.get(fullFormats, name);
  if (format instanceof RegExp) return (text) => format.test(text);
  if (typeof format === "function") return (text) => format(text) === true;
  const validate: unknown = typeof format === "object" && format !== null && Reflect.get(format, "validate");
  if (typeof validate === "function") return (text) => validate(text) === true;
  throw new Error(`The formats library has no "${name}"`);
}
