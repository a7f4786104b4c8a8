import { BREAKER_OPEN, EXHAUSTED, INVALID, TIMED_OUT, UPSTREAM_FAILED } from "./families.ts";
import type { CatalogueEntry } from "./vocabulary.ts";

const UPSTREAM_DOWN = {
  ...UPSTREAM_FAILED,
  failureClass: "ResourceError",
  retryable: true,
} as const;

/** E33xx: what a tool needs from elsewhere. */
export const EXTERNAL_ERRORS = {
  E3301: {
    ...UPSTREAM_DOWN,
    title: "Secret store cannot be reached",
    mcx: "SystemError",
    ax: "INTERNAL",
    http: 503,
    advice: "Check the address, the network and the seal state of the secret store.",
  },
  E3302: {
    ...UPSTREAM_FAILED,
    title: "Credential could not be retrieved",
    mcx: "SecurityError",
    http: 424,
    advice: "Store the credential named in the details, or correct its name in the manifest.",
  },
  E3303: {
    ...EXHAUSTED,
    title: "Rate limit exceeded",
    kind: "rate_limit_exceeded",
    ax: "UPSTREAM_ERROR",
    http: 429,
    jsonRpc: -32022,
    advice: "Wait as long as the details say, then call again.",
  },
  E3304: {
    ...UPSTREAM_DOWN,
    title: "External service failed",
    advice: "Call again later; if it stays, look at the status of the external service.",
  },
  E3305: {
    ...UPSTREAM_FAILED,
    title: "All retries failed",
    advice: "Look at the last error in the details; trying at once again will not help.",
  },
  E3306: {
    ...TIMED_OUT,
    title: "External service did not answer in time",
    advice: "Call again later, or allow the connection more time.",
  },
  E3307: {
    ...UPSTREAM_FAILED,
    title: "External service refused the credential",
    mcx: "SecurityError",
    advice: "Replace the stored credential by one the external service accepts.",
  },
  E3308: {
    ...UPSTREAM_FAILED,
    title: "External service answered in a wrong format",
    advice: "Check the tool against the current interface of the external service.",
  },
} as const satisfies Record<string, CatalogueEntry>;

/** E34xx: circuit breakers. */
export const BREAKER_ERRORS = {
  E3401: {
    ...BREAKER_OPEN,
    title: "Circuit breaker is open",
    advice: "Wait until the breaker lets test calls through; the details say when.",
  },
  E3402: {
    ...BREAKER_OPEN,
    title: "Circuit breaker state could not be changed",
    mcx: "SystemError",
    ax: "INTERNAL",
    fixer: "operator",
    advice: "Bring the shared state back; until it can be written the breaker blocks.",
  },
  E3403: {
    ...INVALID,
    title: "Invalid circuit breaker configuration",
    http: 422,
    fixer: "operator",
    advice: "Use a failure rate from 0 to 100 and a window of at least one call.",
  },
  E3404: {
    ...UPSTREAM_DOWN,
    title: "Circuit health check failed",
    http: 503,
    advice: "Check that the endpoint behind the breaker can be reached and answers.",
  },
  E3405: {
    ...BREAKER_OPEN,
    title: "Half-open test calls failed",
    advice: "Wait for the next test period; the service behind the breaker still fails.",
  },
} as const satisfies Record<string, CatalogueEntry>;
