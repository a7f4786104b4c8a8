import { CALL_STATUSES, type CallStatus } from "../call-status.ts";
import {
  absentOr,
  anyText,
  count,
  described,
  type Field,
  named,
  oneOf,
  record,
  timestamp,
  wholeNumber,
} from "../envelopes/field-reader.ts";
import { LIFECYCLE_STATES, type LifecycleState } from "../lifecycle.ts";

/** The call reached another state. */
export interface StateEvent {
  state: LifecycleState | "QUEUED" | "WAITING";
  at: string;
}

export interface ProgressEvent {
  percent: number;
  phase?: string;
  at: string;
}

/** What the tool wrote. */
export interface OutputEvent {
  chunk: string;
  /** Present when it is no text. */
  encoding?: "base64";
  at: string;
}

/** The answer is on record; nothing follows. */
export interface EndedEvent {
  status: CallStatus;
  at: string;
  result_url: string;
}

/** Where the client left off is not known any more: what follows starts anew. */
export interface ResetEvent {
  reason: string;
}

/** News that nobody fetched in time and that are not kept any more. */
export interface OmittedEvent {
  count: number;
}

/** By the name of the event; the data of each, as JSON. */
export interface InvocationEvents {
  state: StateEvent;
  progress: ProgressEvent;
  stdout: OutputEvent;
  stderr: OutputEvent;
  ended: EndedEvent;
  reset: ResetEvent;
  omitted: OmittedEvent;
}

const output: Field<OutputEvent> = named(
  "OutputEvent",
  record<OutputEvent>({
    chunk: anyText,
    encoding: absentOr(described(oneOf(["base64"]), "Present when it is no text.")),
    at: timestamp,
  }),
);

/** What the data of each event looks like. */
export const invocationEventFields: { [Name in keyof InvocationEvents]: Field<InvocationEvents[Name]> } = {
  state: named(
    "StateEvent",
    record<StateEvent>({ state: oneOf([...LIFECYCLE_STATES, "QUEUED", "WAITING"]), at: timestamp }),
  ),
  progress: named(
    "ProgressEvent",
    record<ProgressEvent>({
      percent: wholeNumber("a percentage", { minimum: 0, maximum: 100 }),
      phase: absentOr(anyText),
      at: timestamp,
    }),
  ),
  stdout: output,
  stderr: output,
  ended: named(
    "EndedEvent",
    record<EndedEvent>({ status: oneOf(CALL_STATUSES), at: timestamp, result_url: anyText }),
  ),
  reset: named("ResetEvent", record<ResetEvent>({ reason: anyText })),
  omitted: named("OmittedEvent", record<OmittedEvent>({ count })),
};
