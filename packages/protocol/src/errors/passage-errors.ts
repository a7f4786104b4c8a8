import {
  DENIED,
  EXHAUSTED,
  INTERNAL,
  INVALID,
  NOT_FOUND,
  REPEATED,
  STATE_BROKEN,
  STATE_CONFLICT,
  TOOL_FAILED,
  UNAVAILABLE,
} from "./families.ts";
import type { CatalogueEntry } from "./vocabulary.ts";

/** E38xx: the audit record. */
export const AUDIT_ERRORS = {
  E3801: {
    ...STATE_BROKEN,
    title: "Audit event could not be written",
    advice: "Check the audit store: a call that cannot be put on record does not succeed.",
  },
  E3802: {
    ...STATE_BROKEN,
    title: "Audit event could not be serialised",
    advice: "Report this with the details: every event is meant to be plain JSON.",
  },
  E3803: {
    ...UNAVAILABLE,
    title: "Audit record cannot keep up",
    kind: "resource_exhausted",
    mcx: "ResourceError",
    jsonRpc: EXHAUSTED.jsonRpc,
    advice: "Send fewer calls at once, or give the audit store more capacity.",
  },
  E3804: {
    ...STATE_BROKEN,
    title: "Audit chain is broken",
    advice: "Keep the record as it is and compare it with a copy from the named event on.",
  },
} as const satisfies Record<string, CatalogueEntry>;

/** E390x to E392x: the passage of a call, from its request to its recorded outcome. */
export const PASSAGE_ERRORS = {
  E3900: {
    ...INTERNAL,
    title: "Internal error",
    advice: "Report this with the call id: it is a defect of Sallyport, not of the call.",
  },
  E3901: {
    ...INVALID,
    title: "Invalid input",
    advice: "Correct each place named in the issues to fit the tool's input schema.",
  },
  E3902: {
    ...INVALID,
    title: "Input is too large, too deep or has too many values",
    srd: "LimitsExceeded",
    http: 413,
    advice: "Send less in one call, or pass large content by reference.",
  },
  E3903: {
    ...INVALID,
    title: "Malformed request",
    jsonRpc: -32600,
    fixer: "caller",
    advice: "Correct each field of the request named in the issues.",
  },
  E3904: {
    ...REPEATED,
    title: "Idempotency key was used for another request",
    advice: "Use a new key for a new request; repeat a request unchanged to get its answer.",
  },
  E3905: {
    ...REPEATED,
    title: "Call id is already in use",
    advice: "Give each call an id of its own.",
  },
  E3906: {
    ...TOOL_FAILED,
    title: "Call was cancelled",
    ax: "INTERNAL",
    srd: "Cancelled",
    status: "cancelled",
    http: 409,
    jsonRpc: -32023,
    fixer: "caller",
    advice: "Call again if the work is still wanted; the state it had changed was rolled back.",
  },
  E3907: {
    ...TOOL_FAILED,
    title: "Tool failed",
    fixer: "model",
    advice: "Read the tool's message; change the input, or have the tool corrected.",
  },
  E3908: {
    ...STATE_BROKEN,
    title: "Journal could not be written, so the call did not start",
    advice: "Check that the store can be written and has room; nothing ran.",
  },
  E3909: {
    ...STATE_BROKEN,
    title: "Outcome is unknown",
    advice: "Find out whether the effects happened, then close the call with that verdict.",
  },
  E3910: {
    ...EXHAUSTED,
    title: "No capacity for this call",
    advice: "Call again after a pause, or send fewer calls at once.",
  },
  E3911: {
    ...STATE_CONFLICT,
    title: "State was changed where it may not be",
    http: 500,
    fixer: "operator",
    advice: "Have the tool change state only in its transaction and declare its side effects.",
  },
  E3912: {
    ...STATE_BROKEN,
    title: "Rollback could not be verified",
    advice: "Compare the state with the snapshot named in the details and repair it by hand.",
  },
  E3913: {
    ...DENIED,
    title: "A pre-execution hook refused the call",
    srd: "Denylisted",
    advice: "Read the hook's reason in the message; change the call or the hook.",
  },
  E3914: {
    ...UNAVAILABLE,
    title: "Store is unavailable",
    advice: "Bring the store back; until then no new call starts.",
  },
  E3915: {
    ...STATE_BROKEN,
    title: "State folder is in use by another process",
    http: 503,
    advice:
      "Stop that process, or give this one a state folder of its own (--state-dir); a server can also be asked over HTTP (its /docs says how).",
  },
  E3916: {
    ...INVALID,
    title: "Validation took more work than allowed",
    srd: "LimitsExceeded",
    http: 422,
    advice: "Send less in one call, or simplify the schema that is costly to check.",
  },
  E3917: {
    ...NOT_FOUND,
    title: "No such call",
    kind: "invalid_parameters",
    srd: "BadArgs",
    fixer: "caller",
    advice: "Use the id of a call that this tenant made.",
  },
  E3918: {
    ...STATE_CONFLICT,
    title: "Call is not open",
    advice: "Read the call's outcome; a closed call does not change any more.",
  },
  E3919: {
    ...INVALID,
    title: "Bad configuration",
    kind: "internal_error",
    mcx: "SystemError",
    ax: "INTERNAL",
    http: 500,
    jsonRpc: -32603,
    fixer: "operator",
    advice: "Correct the settings named in the issues and start again.",
  },
  E3920: {
    ...INTERNAL,
    title: "Tool module cannot be loaded",
    advice: "Check the module's path, its syntax and what it exports.",
  },
  E3921: {
    ...INVALID,
    title: "Bad command-line usage",
    fixer: "caller",
    advice: "Run the command with --help to see its arguments.",
  },
} as const satisfies Record<string, CatalogueEntry>;
