import { entryOf, type Failure, type Problem } from "@sallyport/protocol";

export type { Problem } from "@sallyport/protocol";

export const PROBLEM_TYPE = "application/problem+json";

const DEFAULT_RETRY_MS = 1_000;

/** A failure as a problem. Holds nothing but what the failure says: no stack, no cause. */
export function problemOf(failed: Failure, { instance }: { instance: string }): Problem {
  const { title, http } = entryOf(failed);
  const { code, message, advice, retryable, issues, details } = failed;
  return {
    type: `/docs/errors#${code}`,
    title,
    status: http,
    detail: message,
    instance,
    code,
    advice,
    retryable,
    ...(issues && { issues }),
    ...(details && { details }),
  };
}

/** Names a request where a problem has no better place to point to. */
export function requestUrn(requestId: string): string {
  return `urn:sallyport:request:${requestId}`;
}

/** Headers the status of a failure asks for. */
export function problemHeaders(failed: Failure): Record<string, string> {
  const { http } = entryOf(failed);
  if (http === 401) return { "www-authenticate": challenge(failed) };
  if (http === 405) return { allow: String(failed.details?.allow ?? "") };
  return http === 429 || http === 503 ? { "retry-after": retryAfter(failed) } : {};
}

function challenge({ code }: Failure): string {
  const realm = 'Bearer realm="sallyport"';
  return code === "E3938" ? realm : `${realm}, error="invalid_token"`;
}

/** Whole seconds from what the failure knows, at least one. */
export function retryAfter({ details }: Failure): string {
  const ms = details?.retryAfterMs;
  const known = typeof ms === "number" && Number.isFinite(ms) ? ms : DEFAULT_RETRY_MS;
  return String(Math.max(1, Math.ceil(known / 1_000)));
}
