import type { Failure, FileEffects, JsonValue, RollbackProof, Warning } from "@sallyport/protocol";
import { auditBody, type EventFacts, type EventKind, EventWriter } from "../audit/index.ts";
import { NO_USAGE } from "../execute/index.ts";
import type { ApprovalRecord } from "../ports/approvals.ts";
import type { CallRecord } from "../ports/calls.ts";
import type { RunUsage, SandboxReport } from "../ports/runner.ts";
import type { StateWrites } from "../ports/state.ts";
import type { ResolvedTool } from "../registry/index.ts";

/**
 * Everything known of one execution. Nobody changes it: a stage that finds something out returns the next one. Events,
 * answer, stored record and unit of work are derived from it.
 */
export interface Progress extends Readonly<EventFacts> {
  /** Which execution of the call it is, counted from 1. */
  readonly number: number;
  readonly startedAt: number;
  readonly usage: RunUsage;
  readonly warnings: readonly Warning[];
  readonly dryRun?: boolean | undefined;
  /** Known once the call is resolved. */
  readonly tool?: ResolvedTool | undefined;
  /** What it may use at most, known with the tool. */
  readonly limits?: CallLimits | undefined;
  /** What the call changed in its workspace, once that is settled. */
  readonly effects?: FileEffects | undefined;
  /** The approval as this execution last read or wrote it. */
  readonly question?: ApprovalRecord | undefined;
  /** What a try-out gave: then approval commits exactly that, and the tool does not run again. */
  readonly held?: PreviewedRun | undefined;
}

/** A call that was run for a preview: its result and its changes are kept, and approval commits exactly those. */
export interface PreviewedRun {
  /** The name its file changes are kept under; left out when it changed no files. */
  files?: string;
  /** Over every change that was shown. */
  digest: string;
  output: JsonValue;
  state?: StateWrites;
  usage: RunUsage;
  sandbox?: SandboxReport;
}

/** The tightest of what the request, the operation, the tool, the operator and the engine allow. */
export interface CallLimits {
  timeoutMs: number;
  memoryBytes: number;
  maxOutputBytes: number;
}

/** What is known of an execution that did not succeed. */
export type Failing = Progress & { readonly error: Failure };

/** The proof of an execution whose tool was never reached: there is nothing to undo. */
export const NOTHING_RAN: RollbackProof = { verified: true, snapshotHash: "", discardedMutations: 0 };

/** A call that nobody is running, as its record tells it. */
export function progressOf(record: CallRecord): Progress {
  const { callId, inputHash, attempt: number, startedAt } = record;
  return { call: record, executionId: callId, inputHash, number, startedAt, usage: NO_USAGE, warnings: [] };
}

/** The events of a unit: the body of its audit link, and how many it holds. */
export interface UnitEvents {
  audit: string | undefined;
  count: number;
}

interface Entry {
  kind: EventKind;
  at: number;
  progress: Progress;
}

/** What others have said of an execution: the parts that may turn out not to be fit for canonical JSON. */
const UNSURE = ["decision", "approval", "enforcement", "violations", "uses", "note"] as const;

/** The events of one execution in order. They become text when a unit of work takes them. */
export class EventLog {
  /** What no unit holds yet. */
  readonly #entries: (Entry & { ordinal: number })[];
  #ordinal = 0;

  /** Goes on with what an earlier execution of the same call has not put on record. */
  constructor(previous?: EventLog) {
    this.#entries = previous ? previous.#entries : [];
  }

  add(kind: EventKind, at: number, progress: Progress): void {
    this.#ordinal += 1;
    this.#entries.push({ kind, at, progress, ordinal: this.#ordinal });
  }

  /**
   * The events that no unit holds yet; `next` comes last and is part of this unit only: it is the event of a state that
   * is entered once the unit is durable. Throws when something that is known cannot be written.
   */
  unit(next?: Entry): UnitEvents {
    const entries = next ? [...this.#entries, { ...next, ordinal: this.#ordinal + 1 }] : this.#entries;
    return writeAll(entries, (writer, entry) => writer.write(entry.kind, entry.progress, entry));
  }

  /** As `unit`, but an event that cannot be written is written without what others said. */
  safeUnit(): UnitEvents {
    return writeAll(this.#entries, (writer, entry) => {
      try {
        return writer.write(entry.kind, entry.progress, entry);
      } catch {
        const sure: EventFacts = { ...entry.progress };
        for (const part of UNSURE) sure[part] = undefined;
        return writer.write(entry.kind, sure, entry);
      }
    });
  }

  /** The unit that holds so many of them is durable. */
  stored({ count }: UnitEvents): void {
    this.#ordinal += Math.max(0, count - this.#entries.length);
    this.#entries.splice(0, count);
  }
}

/** One writer serves while the execution stays the same. Events of several executions share nothing. */
function writeAll<E extends Entry>(
  entries: readonly E[],
  write: (writer: EventWriter, entry: E) => string,
): UnitEvents {
  const [first] = entries;
  if (!first) return { audit: undefined, count: 0 };
  let { progress } = first;
  let writer = new EventWriter(progress);
  const count = entries.length;
  if (entries.every((entry) => entry.progress.call === progress.call)) {
    return { audit: writer.body(entries.map((entry) => write(writer, entry))), count };
  }
  const events = entries.map((entry) => {
    if (entry.progress.call !== progress.call) writer = new EventWriter(entry.progress);
    progress = entry.progress;
    return writer.whole(write(writer, entry));
  });
  return { audit: auditBody(progress.chain ?? progress.call.tenant, events), count };
}

/** The body of events about a call that nobody is running. */
export function auditOfCall(
  kinds: readonly EventKind[],
  facts: EventFacts,
  { ordinal, at }: { ordinal: number; at: number },
): string {
  const writer = new EventWriter(facts);
  return writer.body(kinds.map((kind, index) => writer.write(kind, facts, { ordinal: ordinal + index, at })));
}
