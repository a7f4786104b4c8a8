import { createRedactor } from "@sallyport/engine";

const { redactText } = createRedactor({ profile: "secrets" });

/** A name and password before a host, as proxies are sometimes given, without the scheme that would give them away. */
const BARE_PROXY =
  /^[^\s:@/]{1,200}:[^\s@/]{1,200}@(?:[\w.-]{1,250}:\d{1,5}|[\w-]{1,63}(?:\.[\w-]{1,63}){1,8})$/;

/** Guesses that would take a path with a digest in it, or a number, for a secret. */
const GUESSES = new Set(["[REDACTED_API_KEY]", "[REDACTED_CARD]", "[REDACTED_SSN]"]);

/**
 * Whether a value has a credential in it, whatever it is called: a password in an address, a token of a known form, a
 * private key, `Password=…` in a connection string.
 */
export function holdsCredential(value: string): boolean {
  if (BARE_PROXY.test(value)) return true;
  const shown = redactText(value);
  if (shown === value) return false;
  return shown.match(/\[REDACTED(?:_[A-Z0-9_]+)?\]/g)?.some((marker) => !GUESSES.has(marker)) ?? true;
}
