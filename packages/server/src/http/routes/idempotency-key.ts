import { SallyportError } from "@sallyport/protocol";
import { malformed } from "./malformed.ts";

const MAX_KEY = 255;

/** The request's key, from its header or its body; refused when the two differ, because one of them is not meant. */
export function idempotencyKeyOf(header: string | undefined, inBody: string | undefined): string | undefined {
  const sent = header === undefined ? undefined : unquoted(header.trim());
  if (sent !== undefined && (sent === "" || sent.length > MAX_KEY)) {
    throw new SallyportError(malformed("header/idempotency-key", `must have 1 to ${MAX_KEY} characters`));
  }
  if (sent === undefined || inBody === undefined || sent === inBody) return sent ?? inBody;
  const reason = "differs from execution_options.idempotency_key";
  throw new SallyportError(
    malformed("header/idempotency-key", reason, "Send one of them, or both the same."),
  );
}

/** Some clients write it as a structured string, in quotation marks. */
function unquoted(text: string): string {
  return /^"[^"\\]*"$/.test(text) ? text.slice(1, -1) : text;
}
