import {
  BREAKER_OPEN,
  CHECKPOINT_FAILED,
  DENIED,
  DOCUMENT_UNAVAILABLE,
  entry,
  type Family,
  INVALID,
  NOT_FOUND,
  RATE_LIMITED,
  RESUME_FAILED,
  STATE_CONFLICT,
  TIMED_OUT,
  TOOL_FAILED,
  UPSTREAM_FAILED,
} from "./families.ts";

const UPSTREAM_DOWN: Family = { ...UPSTREAM_FAILED, failureClass: "ResourceError" };

/** E33xx: what a tool needs from elsewhere. */
export const EXTERNAL_ERRORS = {
  E3301: entry(UPSTREAM_DOWN, "Secret store cannot be reached", {
    advice: "Check the address, the network and the seal state of the secret store.",
    mcx: "SystemError",
    ax: "INTERNAL",
    http: 503,
  }),
  E3302: entry(UPSTREAM_FAILED, "Credential could not be retrieved", {
    advice: "Store the credential named in the details, or correct its name in the manifest.",
    mcx: "SecurityError",
    http: 424,
  }),
  E3303: entry(RATE_LIMITED, "Rate limit exceeded", {
    advice: "Wait as long as the details say, then call again.",
    ax: "UPSTREAM_ERROR",
  }),
  E3304: entry(UPSTREAM_DOWN, "External service failed", {
    advice: "Call again later; if the error stays, look at the status of the external service.",
  }),
  E3305: entry(UPSTREAM_FAILED, "All retries failed", {
    advice: "Look at the last error in the details; an immediate repetition will not help.",
  }),
  E3306: entry(TIMED_OUT, "External service did not answer in time", {
    advice: "Call again later, or allow the connection more time.",
  }),
  E3307: entry(UPSTREAM_FAILED, "External service refused the credential", {
    advice: "Replace the stored credential by one the external service accepts.",
    mcx: "SecurityError",
  }),
  E3308: entry(UPSTREAM_FAILED, "External service answered in a wrong format", {
    advice: "Check the tool against the current interface of the external service.",
  }),
};

/** E34xx: circuit breakers. */
export const BREAKER_ERRORS = {
  E3401: entry(BREAKER_OPEN, "Circuit breaker is open", {
    advice: "Wait until the breaker lets test calls through; the details say when.",
  }),
  E3402: entry(BREAKER_OPEN, "Circuit breaker state could not be changed", {
    advice: "Bring the shared state back; until it can be written the breaker blocks.",
    mcx: "SystemError",
    ax: "INTERNAL",
    fixer: "operator",
  }),
  E3403: entry(INVALID, "Invalid circuit breaker configuration", {
    advice: "Use a failure rate from 0 to 100 and a window of at least one call.",
    http: 422,
    fixer: "operator",
  }),
  E3404: entry(UPSTREAM_DOWN, "Circuit health check failed", {
    advice: "Check that the endpoint behind the breaker can be reached and answers.",
    http: 503,
  }),
  E3405: entry(BREAKER_OPEN, "Half-open test calls failed", {
    advice: "Wait for the next test period; the service behind the breaker still fails.",
  }),
};

/** E36xx: documents a tool reads. */
export const DOCUMENT_ERRORS = {
  E3601: entry(NOT_FOUND, "Document not found", {
    advice: "Use the id of a document that exists; search the documents to find it.",
    kind: "document_not_found",
    srd: "BadArgs",
  }),
  E3602: entry(DOCUMENT_UNAVAILABLE, "Document is unavailable", {
    advice: "Check the document server; the document was neither reachable nor cached.",
  }),
  E3603: entry(DENIED, "Document permission denied", {
    advice: "Grant this agent access to the document, or use one it may read.",
  }),
  E3604: entry(STATE_CONFLICT, "Document version conflict", {
    advice: "Ask for the current version: the requested one was deprecated or removed.",
    kind: "document_version_conflict",
  }),
  E3605: entry(TIMED_OUT, "Document server did not answer in time", {
    advice: "Call again later, or allow the document server more time.",
    kind: "document_unavailable",
  }),
  E3606: entry(DOCUMENT_UNAVAILABLE, "Document server broke its protocol", {
    advice: "Check that the document server speaks the protocol version that is configured.",
    failureClass: "ExecutionError",
    http: 502,
  }),
  E3607: entry(DOCUMENT_UNAVAILABLE, "Document cache is unavailable", {
    advice: "Bring the cache back; until then each document is read from its server.",
  }),
  E3608: entry(STATE_CONFLICT, "Document versions could not be pinned", {
    advice: "Check that the store can be written, or call without version pinning.",
    kind: "document_version_conflict",
    http: 500,
    fixer: "operator",
  }),
};

/** E37xx: checkpoints and state. */
export const CHECKPOINT_ERRORS = {
  E3701: entry(CHECKPOINT_FAILED, "Checkpoint could not be created", {
    advice: "Check that the checkpoint store can be written and has room.",
  }),
  E3702: entry(RESUME_FAILED, "Checkpoint not found", {
    advice: "Use the id of a checkpoint of this tool that still exists.",
    mcx: "NotFoundError",
    ax: "NOT_FOUND",
    srd: "BadArgs",
    http: 404,
    jsonRpc: -32601,
  }),
  E3703: entry(RESUME_FAILED, "Checkpoint could not be restored", {
    advice: "Resume from an earlier checkpoint, or start again: this one is damaged.",
    fixer: "operator",
  }),
  E3704: entry(STATE_CONFLICT, "State conflict detected", {
    advice: "Read the state again and repeat the call: another call changed it meanwhile.",
  }),
  E3705: entry(CHECKPOINT_FAILED, "Checkpoint delta could not be encoded", {
    advice: "Save a full checkpoint instead of a difference to its parent.",
  }),
  E3706: entry(CHECKPOINT_FAILED, "Checkpoint could not be compressed", {
    advice: "Save the checkpoint uncompressed, or check the compression that is configured.",
  }),
  E3707: entry(RESUME_FAILED, "Checkpoint has expired", {
    advice: "Start again, or resume from a checkpoint that is kept longer.",
    http: 410,
  }),
  E3708: entry(RESUME_FAILED, "Archived checkpoint is not back yet", {
    advice: "Wait until the archive has restored it, then resume again.",
    failureClass: "ResourceError",
    http: 503,
  }),
  E3709: entry(TOOL_FAILED, "State value cannot be kept", {
    advice:
      "Have the tool keep smaller, plain JSON: no undefined, functions, cycles, lone surrogates or __proto__, and no deeper than an input may be.",
  }),
};

/** E396x: workers, which run the tools of a gateway. */
export const WORKER_ERRORS = {
  E3961: entry(UPSTREAM_FAILED, "Worker reported a failure", {
    advice: "Read the worker's own code and details; change the input, or have the worker corrected.",
    kind: "tool_execution_error",
    fixer: "model",
  }),
  E3962: entry(UPSTREAM_FAILED, "Worker broke the envelope", {
    advice: "Correct the worker: each issue names what its answer lacks. Its outcome is not known.",
    ax: "INTERNAL",
  }),
  E3963: entry(UPSTREAM_DOWN, "Worker is not available", {
    advice: "Call again after a pause; if the error stays, look whether the worker runs and at its log.",
  }),
  E3964: entry(UPSTREAM_FAILED, "Worker redirected the request", {
    advice: "Correct `transport.base_url` of the tool: a gateway follows no redirect.",
  }),
};
