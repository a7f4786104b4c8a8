import type { IncomingMessage } from "node:http";
import { type Failure, failure } from "@sallyport/protocol";
import { FIXED_BOUNDS } from "./door-settings.ts";

/** Headers of which two readers could each believe another one. */
const SINGLE = new Set([
  "host",
  "authorization",
  "content-type",
  "content-length",
  "origin",
  "expect",
  "idempotency-key",
  "last-event-id",
]);
const LENGTHS = new Set([...SINGLE].map((name) => name.length));

/** E3935 for too many headers, E3903 for two of a kind where only one may be. */
export function headerTrouble({ rawHeaders }: IncomingMessage): Failure | undefined {
  if (rawHeaders.length > 2 * FIXED_BOUNDS.headers)
    return failure("E3935", { message: `A request may have ${FIXED_BOUNDS.headers} headers.` });
  let seen: string[] | undefined;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? "";
    if (!LENGTHS.has(name.length)) continue;
    const lower = name.toLowerCase();
    if (!SINGLE.has(lower)) continue;
    seen ??= [];
    if (seen.includes(lower)) return twice(lower);
    seen.push(lower);
  }
  return undefined;
}

function twice(name: string): Failure {
  return failure("E3903", {
    message: `The request has more than one ${name} header.`,
    advice: `Send ${name} once.`,
  });
}
