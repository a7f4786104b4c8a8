import {
  absentOr,
  anyObject,
  anyText,
  anyValue,
  described,
  either,
  type Field,
  flag,
  type Infer,
  named,
  nameText,
  oneOf,
  record,
  simple,
  wholeNumber,
} from "./fields.ts";

/*
 * The envelope between a gateway and a worker (AX-ENV-1): the gateway posts a request to `/run`, the worker answers 200 with a
 * success or an error. Fields that a reader does not know are ignored on both sides.
 */

/** The request header with what a gateway and its workers alone know, and what it may be. */
export const WORKER_SECRET_HEADER = "x-sallyport-worker";
export const WORKER_SECRET = /^[\x21-\x7e]{16,1000}$/;

/** What a worker may say went wrong. Only the gateway itself says other codes. */
export const WORKER_ERROR_CODES = ["UPSTREAM_ERROR", "VALIDATION_ERROR", "TIMEOUT", "INTERNAL"] as const;
export type WorkerErrorCode = (typeof WORKER_ERROR_CODES)[number];

const ids = {
  trace_id: described(nameText, "Names the trace that the run belongs to."),
  tool_run_id: described(nameText, "Names this run; the worker gives it back as it came."),
};

export const workerRequestField = named(
  "WorkerRequest",
  record({
    meta: record({
      ...ids,
      domain_id: described(nameText, "The domain that the gateway serves."),
      deadline_ms: described(
        wholeNumber("milliseconds since 1970"),
        "When the gateway stops waiting, in milliseconds since 1970.",
      ),
      tool_id: absentOr(nameText, "Which tool is run, for workers that have several."),
    }),
    input: described(anyObject, "What the caller sent, already checked against the tool's input schema."),
  }),
);
/** What a gateway sends to a worker. */
export type WorkerRequest = Infer<typeof workerRequestField>;

const answerMeta = record({
  ...ids,
  duration_ms: described(
    simple(
      "milliseconds",
      { type: "number", minimum: 0 },
      (value): value is number => typeof value === "number" && value >= 0,
    ),
    "How long the worker took.",
  ),
});

function exactly<const Value extends boolean>(value: Value): Field<Value> {
  return simple(`${value}`, { const: value }, (given): given is Value => given === value);
}

const workerErrorField = record({
  code: oneOf(WORKER_ERROR_CODES),
  message: described(anyText, "For people."),
  retryable: described(flag, "Whether the same request may succeed later."),
  details: absentOr(anyObject),
});
/** Why a worker did not do what it was asked. */
export type WorkerError = Infer<typeof workerErrorField>;

export const workerSuccessField = named(
  "WorkerSuccess",
  record({ ok: exactly(true), meta: answerMeta, output: anyValue }),
);
export const workerFailureField = named(
  "WorkerFailure",
  record({ ok: exactly(false), meta: answerMeta, error: workerErrorField }),
);
/** Either answer of a worker; what is wrong with one is said in the words of the success. */
export const workerAnswerField = either(workerFailureField, workerSuccessField);
export type WorkerAnswer = Infer<typeof workerAnswerField>;
