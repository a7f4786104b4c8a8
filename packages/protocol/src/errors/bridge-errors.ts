import {
  CHECKPOINT_FAILED,
  DENIED,
  DOCUMENT_UNAVAILABLE,
  NOT_FOUND,
  RESUME_FAILED,
  STATE_CONFLICT,
  TIMED_OUT,
} from "./families.ts";
import type { CatalogueEntry } from "./vocabulary.ts";

/** E36xx: documents a tool reads. */
export const DOCUMENT_ERRORS = {
  E3601: {
    ...NOT_FOUND,
    title: "Document not found",
    kind: "document_not_found",
    srd: "BadArgs",
    advice: "Use the id of a document that exists; search the documents to find it.",
  },
  E3602: {
    ...DOCUMENT_UNAVAILABLE,
    title: "Document is unavailable",
    advice: "Check the document server; the document was neither reachable nor cached.",
  },
  E3603: {
    ...DENIED,
    title: "Document permission denied",
    advice: "Grant this agent access to the document, or use one it may read.",
  },
  E3604: {
    ...STATE_CONFLICT,
    title: "Document version conflict",
    kind: "document_version_conflict",
    advice: "Ask for the current version: the requested one was deprecated or removed.",
  },
  E3605: {
    ...TIMED_OUT,
    title: "Document server did not answer in time",
    kind: "document_unavailable",
    advice: "Call again later, or allow the document server more time.",
  },
  E3606: {
    ...DOCUMENT_UNAVAILABLE,
    title: "Document server broke its protocol",
    failureClass: "ExecutionError",
    http: 502,
    retryable: false,
    advice: "Check that the document server speaks the protocol version that is configured.",
  },
  E3607: {
    ...DOCUMENT_UNAVAILABLE,
    title: "Document cache is unavailable",
    advice: "Bring the cache back; until then each document is read from its server.",
  },
  E3608: {
    ...STATE_CONFLICT,
    title: "Document versions could not be pinned",
    kind: "document_version_conflict",
    http: 500,
    fixer: "operator",
    advice: "Check that the store can be written, or call without version pinning.",
  },
} as const satisfies Record<string, CatalogueEntry>;

/** E37xx: checkpoints and state. */
export const CHECKPOINT_ERRORS = {
  E3701: {
    ...CHECKPOINT_FAILED,
    title: "Checkpoint could not be created",
    advice: "Check that the checkpoint store can be written and has room.",
  },
  E3702: {
    ...RESUME_FAILED,
    title: "Checkpoint not found",
    mcx: "NotFoundError",
    ax: "NOT_FOUND",
    srd: "BadArgs",
    http: 404,
    jsonRpc: -32601,
    advice: "Use the id of a checkpoint of this tool that still exists.",
  },
  E3703: {
    ...RESUME_FAILED,
    title: "Checkpoint could not be restored",
    fixer: "operator",
    advice: "Resume from an earlier checkpoint, or start again: this one is damaged.",
  },
  E3704: {
    ...STATE_CONFLICT,
    title: "State conflict detected",
    advice: "Read the state again and repeat the call: another call changed it meanwhile.",
  },
  E3705: {
    ...CHECKPOINT_FAILED,
    title: "Checkpoint delta could not be encoded",
    advice: "Save a full checkpoint instead of a difference to its parent.",
  },
  E3706: {
    ...CHECKPOINT_FAILED,
    title: "Checkpoint could not be compressed",
    advice: "Save the checkpoint uncompressed, or check the compression that is configured.",
  },
  E3707: {
    ...RESUME_FAILED,
    title: "Checkpoint has expired",
    http: 410,
    advice: "Start again, or resume from a checkpoint that is kept longer.",
  },
  E3708: {
    ...RESUME_FAILED,
    title: "Archived checkpoint is not back yet",
    failureClass: "ResourceError",
    http: 503,
    retryable: true,
    advice: "Wait until the archive has restored it, then resume again.",
  },
} as const satisfies Record<string, CatalogueEntry>;
