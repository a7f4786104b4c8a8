import {
  DENIED,
  EXHAUSTED,
  entry,
  type Family,
  INTERNAL,
  INVALID,
  NOT_FOUND,
  RATE_LIMITED,
  REPEATED,
  STATE_BROKEN,
  STATE_CONFLICT,
  TIMED_OUT,
  TOOL_FAILED,
  UNAUTHENTICATED,
  UNAVAILABLE,
} from "./families.ts";

/** E38xx: the audit record. */
export const AUDIT_ERRORS = {
  E3801: entry(STATE_BROKEN, "Audit event could not be written", {
    advice: "Check the audit store: a call that cannot be put on record does not succeed.",
  }),
  E3802: entry(STATE_BROKEN, "Audit event could not be serialised", {
    advice: "Report this with the details: every event is meant to be plain JSON.",
  }),
  E3803: entry(UNAVAILABLE, "Audit record cannot keep up", {
    advice: "Send fewer calls at once, or give the audit store more capacity.",
    kind: "resource_exhausted",
    mcx: "ResourceError",
    jsonRpc: EXHAUSTED.jsonRpc,
  }),
  E3804: entry(STATE_BROKEN, "Audit chain is broken", {
    advice: "Do not change the record; compare it with a backup, from the named event on.",
  }),
};

/** E390x to E392x: the passage of a call, from its request to its recorded outcome. */
export const PASSAGE_ERRORS = {
  E3900: entry(INTERNAL, "Internal error", {
    advice: "Report this with the call id: it is a defect of Sallyport, not of the call.",
  }),
  E3901: entry(INVALID, "Invalid input", {
    advice: "Correct each place named in the issues to fit the tool's input schema.",
  }),
  E3902: entry(INVALID, "Input is too large, too deep or has too many values", {
    advice: "Send less in one call, or pass large content by reference.",
    srd: "LimitsExceeded",
    http: 413,
  }),
  E3903: entry(INVALID, "Malformed request", {
    advice: "Correct each field of the request named in the issues.",
    jsonRpc: -32600,
    fixer: "caller",
  }),
  E3904: entry(REPEATED, "Idempotency key was used for another request", {
    advice: "Use a new key for a new request; repeat a request unchanged to get its answer.",
  }),
  E3905: entry(REPEATED, "Call id is already in use", { advice: "Give each call an id of its own." }),
  E3906: entry(TOOL_FAILED, "Call was cancelled", {
    advice: "Call again if the work is still wanted; the state it had changed was rolled back.",
    ax: "INTERNAL",
    srd: "Cancelled",
    status: "cancelled",
    http: 409,
    jsonRpc: -32023,
    fixer: "caller",
  }),
  E3907: entry(TOOL_FAILED, "Tool failed", {
    advice: "Read the tool's message; change the input, or have the tool corrected.",
    fixer: "model",
  }),
  E3908: entry(STATE_BROKEN, "Journal could not be written, so the call did not start", {
    advice: "Check that the store can be written and has room; nothing ran.",
  }),
  E3909: entry(STATE_BROKEN, "Outcome is unknown", {
    advice: "Find out whether the effects happened, then close the call: `sallyport calls recover`.",
  }),
  E3910: entry(EXHAUSTED, "No capacity for this call", {
    advice: "Call again after a pause, or send fewer calls at once.",
  }),
  E3911: entry(STATE_CONFLICT, "Tool changed state that it may not change", {
    advice: "Correct the tool: declare its side effects, and change state only through its context.",
    http: 500,
    fixer: "operator",
  }),
  E3912: entry(STATE_BROKEN, "Rollback could not be verified", {
    advice: "Compare the state with the snapshot named in the details and repair it by hand.",
  }),
  E3913: entry(DENIED, "A pre-execution hook refused the call", {
    advice: "Read the hook's reason in the message; change the call or the hook.",
    srd: "Denylisted",
  }),
  E3914: entry(UNAVAILABLE, "Store is unavailable", {
    advice: "Bring the store back; until then no new call starts.",
  }),
  E3915: entry(STATE_BROKEN, "State folder is in use by another process", {
    advice:
      "Stop that process, or give this one a state folder of its own (--state-dir); a server can also be asked over HTTP (its /docs says how).",
    http: 503,
  }),
  E3916: entry(INVALID, "Validation took more work than allowed", {
    advice: "Send less in one call, or simplify the schema that is costly to check.",
    srd: "LimitsExceeded",
    http: 422,
  }),
  E3917: entry(NOT_FOUND, "No such call", {
    advice: "Use the id of a call that this tenant made.",
    kind: "invalid_parameters",
    srd: "BadArgs",
    fixer: "caller",
  }),
  E3918: entry(STATE_CONFLICT, "Call is not open", {
    advice: "Read the call's outcome; a closed call does not change any more.",
  }),
  E3919: entry(INVALID, "Bad configuration", {
    advice: "Correct the settings named in the issues and start again.",
    kind: "internal_error",
    mcx: "SystemError",
    ax: "INTERNAL",
    http: 500,
    jsonRpc: -32603,
    fixer: "operator",
  }),
  E3920: entry(INTERNAL, "Tool code is missing, or cannot be loaded", {
    advice: "Check the module's path, its syntax and what it exports.",
  }),
  E3921: entry(INVALID, "Bad command-line usage", {
    advice: "Run the command with --help to see its arguments.",
    fixer: "caller",
  }),
  E3922: entry(UNAVAILABLE, "Process cannot renew its lease on the store", {
    advice: "Call again: another process may take the call, or this one once it reaches the store in time.",
  }),
  E3923: entry(STATE_CONFLICT, "Another process has taken the call over", {
    advice: "Look the call up: its outcome is what the record says, not what this process did.",
  }),
};

/** A request that every route refuses, whatever it asks for. */
const UNFIT_REQUEST: Family = { ...INVALID, jsonRpc: -32600, fixer: "caller" };

/** E393x to E394x: what the HTTP door refuses before a call begins, and commands to a running server. */
export const HTTP_ERRORS = {
  E3930: entry(NOT_FOUND, "No such route", {
    advice: "Look the path up in /openapi.json; paths are exact, with no slash at the end.",
    kind: "invalid_parameters",
    srd: "BadArgs",
    fixer: "caller",
  }),
  E3931: entry(UNFIT_REQUEST, "Method is not allowed here", {
    advice: "Use one of the methods in the Allow header.",
    http: 405,
  }),
  E3932: entry(UNFIT_REQUEST, "Media type is not supported", {
    advice: "Send JSON in UTF-8, with the content type application/json and no content encoding.",
    http: 415,
  }),
  E3933: entry(TIMED_OUT, "Request did not arrive in time", {
    advice: "Send the whole request at once over a connection that is fast enough, then try again.",
    http: 408,
  }),
  E3934: entry(UNFIT_REQUEST, "URL is too long", {
    advice: "Shorten the query, or ask for fewer things at once.",
    srd: "LimitsExceeded",
    http: 414,
  }),
  E3935: entry(UNFIT_REQUEST, "Request headers are too large or too many", {
    advice: "Send fewer and smaller headers; cookies of other services are a common cause.",
    srd: "LimitsExceeded",
    http: 431,
  }),
  E3936: entry(UNFIT_REQUEST, "Host is not served here", {
    advice: "Use the address the server prints at its start, or add this name to http.allowedHosts.",
    http: 421,
  }),
  E3937: entry(DENIED, "Origin is not allowed", {
    advice: "Call from a program or the server's own pages, or add this origin to http.allowedOrigins.",
  }),
  E3938: entry(UNAUTHENTICATED, "A credential is required", {
    advice:
      "Send `Authorization: Bearer` with a capability token or, for management, the operator key (keys/operator.key in the state folder).",
  }),
  E3939: entry(UNAUTHENTICATED, "Credential was not accepted", {
    advice: "Send the current operator key or an open session; routes without access control need none.",
  }),
  E3940: entry(DENIED, "This credential is not for this route", {
    advice: "Use the operator key or a session of it; other credentials do not open this route.",
  }),
  E3941: entry(RATE_LIMITED, "Too many wrong operator keys", {
    advice: "Wait as long as Retry-After says, then send the right key.",
  }),
  E3942: entry(UNAVAILABLE, "Server is shutting down", {
    advice: "Send the request again once the server is back.",
  }),
  E3943: entry(INTERNAL, "Server cannot listen on this address", {
    advice: "Set another http.host or http.port, or stop the program that uses this one.",
  }),
  E3944: entry(UNFIT_REQUEST, "Expectation cannot be met", {
    advice: "Leave the Expect header out, or send 100-continue in it.",
    http: 417,
  }),
  E3945: entry(STATE_BROKEN, "Running server did not answer", {
    advice:
      "Check what it has done before you repeat the command: sallyport calls list, approvals list or grants list.",
    http: 503,
  }),
  E3949: entry(UNAVAILABLE, "Blob store is unavailable", {
    advice: "Check the folder or the bucket of `blobs`: sallyport doctor. Nothing is half written.",
  }),
};

/** E395x: batches of calls from a model, and the files their tools touch. */
export const TOOL_LOOP_ERRORS = {
  E3950: entry(REPEATED, "Tool call id occurs twice in a batch", {
    advice: "Give each tool call of a batch an id of its own.",
    fixer: "model",
  }),
  E3951: entry(TOOL_FAILED, "Patch could not be applied", {
    advice: "Read the file again and make a patch that fits its present content.",
    srd: "PatchFailed",
    http: 422,
    fixer: "model",
  }),
  E3952: entry(STATE_CONFLICT, "File was not read, or changed since it was read", {
    advice: "Read the file again before changing it.",
    srd: "StaleFile",
    fixer: "model",
  }),
  E3953: entry(DENIED, "Tool is on the denylist", {
    advice: "Use another tool, or take this one off the denylist.",
    srd: "Denylisted",
  }),
  E3954: entry(DENIED, "Tool execution is disabled", {
    advice: "Enable tool execution in the configuration if calls are meant to run.",
    srd: "Disabled",
  }),
  E3955: entry(DENIED, "Path is outside the sandbox", {
    advice: "Use a path inside one of the allowed folders.",
    srd: "PathOutsideSandbox",
    fixer: "model",
  }),
  E3956: entry(DENIED, "Path matches a denied pattern", {
    advice: "Use another file: files of this pattern may not be touched.",
    srd: "DeniedPatternMatched",
    fixer: "model",
  }),
  E3957: entry(DENIED, "Call is beyond a safety limit", {
    advice: "Make fewer or smaller calls; the message names the limit.",
    srd: "LimitsExceeded",
    fixer: "model",
  }),
  E3958: entry(STATE_CONFLICT, "Conversation is busy", {
    advice: "Wait for the turn that is under way, or cancel it.",
    srd: "ExecutionFailed",
    fixer: "caller",
  }),
  E3959: entry(TOOL_FAILED, "Language model could not answer", {
    advice: "Check the model's name, its key and its address; what was said so far is kept.",
    srd: "ExecutionFailed",
    http: 502,
    fixer: "operator",
  }),
};
