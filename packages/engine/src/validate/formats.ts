import { fullFormats } from "ajv-formats/dist/formats.js";

/**
 * The formats a schema may use, with the length no valid text exceeds: beyond it nothing is matched, so a long
 * text costs nothing. A URI has no such length; its expression was measured to be linear.
 */
const MAX_LENGTHS = {
  "date-time": 64,
  date: 10,
  time: 48,
  duration: 128,
  email: 320,
  hostname: 254,
  ipv4: 15,
  ipv6: 45,
  uri: Number.POSITIVE_INFINITY,
  uuid: 45,
} as const;

export const FORMAT_NAMES: readonly string[] = Object.keys(MAX_LENGTHS);

type Check = (text: string) => boolean;

/** Each supported format as a function that cannot hang. */
export function formatChecks(): Record<string, Check> {
  const checks: Record<string, Check> = {};
  for (const [name, maxLength] of Object.entries(MAX_LENGTHS)) {
    const check = checkOf(name);
    checks[name] = (text) => text.length <= maxLength && check(text);
  }
  return checks;
}

function checkOf(name: string): Check {
  const format: unknown = Reflect.get(fullFormats, name);
  if (format instanceof RegExp) return (text) => format.test(text);
  if (typeof format === "function") return (text) => format(text) === true;
  const validate: unknown = typeof format === "object" && format !== null && Reflect.get(format, "validate");
  if (typeof validate === "function") return (text) => validate(text) === true;
  throw new Error(`The formats library has no "${name}"`);
}
