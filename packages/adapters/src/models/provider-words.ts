import { redactText } from "@sallyport/engine/host";
import { parseJson } from "@sallyport/protocol";

const READ_CHARS = 4_096;
const SHOWN_CHARS = 300;

/** Text of a provider as one line that can be shown: no control characters, no secrets, not long. */
export function oneLine(text: string): string {
  const line = text
    .slice(0, READ_CHARS)
    .replace(/[\p{Cc}\p{Cf}\s]+/gu, " ")
    .trim();
  // Redacted before it is cut: half a secret is not recognised any more.
  const shown = redactText(line);
  return shown.length > SHOWN_CHARS ? `${shown.slice(0, SHOWN_CHARS)}…` : shown;
}

/** What a provider's error says in words; undefined when nothing can be found. Servers differ in where they put it. */
export function wordsIn(body: string | undefined): string | undefined {
  const parsed = body === undefined ? undefined : parseJson(body);
  const error = member(parsed, "error");
  const candidates = [member(error, "message"), error, member(parsed, "message"), member(parsed, "detail")];
  return candidates.filter((candidate) => typeof candidate === "string").find((words) => words.trim() !== "");
}

/** The provider's own code of an error, such as `insufficient_quota`. */
export function codeIn(body: string | undefined): string | undefined {
  const error = member(body === undefined ? undefined : parseJson(body), "error");
  const code = member(error, "code") ?? member(error, "type");
  return typeof code === "string" ? code : undefined;
}

/** A member of something that may be anything. */
export function member(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;
}
