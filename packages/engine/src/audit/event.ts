import {
  canonicalJson,
  type Enforcement,
  type Failure,
  type Isolation,
  type JsonValue,
  type LifecycleState,
  type RollbackProof,
  type Violation,
} from "@sallyport/protocol";
import type { Decision } from "../ports/authority.ts";
import { redactText } from "../redact/redact.ts";

/** What is known of an execution when an event is written (R1-8.1). */
export interface EventFacts {
  tenant: string;
  agent: string;
  userId?: string | undefined;
  callId: string;
  executionId: string;
  toolId: string;
  toolVersion: string;
  operation: string;
  inputHash: string;
  outputHash?: string | undefined;
  decision?: Decision | undefined;
  /** The approval the call waits for, or runs by. */
  approval?: { approvalId: string; by: string[]; digest: string } | undefined;
  isolation?: Isolation | undefined;
  /** Of a sandboxed run: what held each limit. */
  enforcement?: Enforcement | undefined;
  violations?: readonly Violation[] | undefined;
  /** The digest of what the call changed in its workspace. */
  effectsHash?: string | undefined;
  durationMs?: number | undefined;
  error?: Failure | undefined;
  rollback?: RollbackProof | undefined;
  note?: string | undefined;
  /** How the tool used its capabilities, once it has ended. */
  uses?: JsonValue | undefined;
}

/** A lifecycle state entered, or something said about a call outside its lifecycle. */
export type EventKind =
  | LifecycleState
  | "REFUSED"
  | "OUTCOME_UNKNOWN"
  | "QUEUED"
  | "CLOSED_BY_PERSON"
  | "CAPABILITY_VIOLATION"
  | "SANDBOX_CREATED"
  | "SANDBOX_DESTROYED"
  | "POLICY_VIOLATION"
  | "ESCAPE_ATTEMPT"
  | "UNDO_REQUESTED"
  | "EFFECTS_UNDONE"
  | "APPROVAL_REQUESTED"
  | "APPROVAL_VOTED"
  | "APPROVAL_GIVEN"
  | "APPROVAL_EDITED"
  | "APPROVAL_DENIED"
  | "APPROVAL_EXPIRED"
  | "APPROVAL_WITHDRAWN"
  | "APPROVAL_VOID";

const ERROR_TEXT_CHARS = 500;
const MAX_VIOLATIONS = 32;

const quote = (text: string): string => JSON.stringify(text);

/**
 * Writes the bodies of one execution's audit events in canonical JSON. A call writes five and most of each is the same,
 * so the parts that do not change are put together once, here, with the keys in sorted order; a test holds the result
 * equal to the RFC 8785 form.
 */
export class EventWriter {
  readonly #agent: string;
  readonly #call: string;
  readonly #eventId: string;
  readonly #execution: string;
  readonly #operation: string;
  readonly #tenant: string;
  readonly #tool: string;

  /** What identifies the execution is fixed from here on. */
  constructor(facts: EventFacts) {
    const { agent, callId, executionId, inputHash, operation, tenant, toolId, toolVersion, userId } = facts;
    this.#agent = `{"agent":${quote(agent)}`;
    this.#call = `,"callId":${quote(callId)},"capabilities":`;
    this.#eventId = `,"eventId":${quote(`${executionId}:`).slice(0, -1)}`;
    this.#execution = `","executionId":${quote(executionId)},"inputHash":"${inputHash}"`;
    this.#operation = `,"operation":${quote(operation)}`;
    this.#tenant = `","tenant":${quote(tenant)},"timestamp":`;
    const user = userId === undefined ? "" : `,"userId":${quote(userId)}`;
    this.#tool = `,"toolId":${quote(toolId)},"toolVersion":${quote(toolVersion)}${user}`;
  }

  write(kind: EventKind, facts: EventFacts, at: { ordinal: number; timestamp: number }): string {
    return (
      this.#agent +
      (facts.approval ? `,"approval":${canonicalJson(facts.approval)}` : "") +
      this.#call +
      granted(kind, facts.decision) +
      (facts.durationMs === undefined ? "" : `,"duration":${facts.durationMs}`) +
      (facts.effectsHash === undefined ? "" : `,"effectsHash":"${facts.effectsHash}"`) +
      (facts.enforcement ? `,"enforcement":${canonicalJson({ ...facts.enforcement })}` : "") +
      (facts.error ? failed(facts.error) : "") +
      this.#eventId +
      at.ordinal +
      this.#execution +
      (facts.isolation ? isolated(facts.isolation) : "") +
      (facts.note === undefined ? "" : `,"note":${quote(redactText(facts.note))}`) +
      this.#operation +
      (facts.outputHash === undefined ? "" : `,"outputHash":"${facts.outputHash}"`) +
      (facts.decision ? `,"policyVersion":${quote(facts.decision.policyVersion)}` : "") +
      (facts.rollback ? rolledBack(facts.rollback) : "") +
      `,"state":"${kind}` +
      this.#tenant +
      at.timestamp +
      this.#tool +
      (facts.uses === undefined ? "" : `,"uses":${canonicalJson(facts.uses)}`) +
      (facts.violations ? violated(facts.violations) : "}")
    );
  }
}

/** The capabilities held, and the decision itself where it was made. */
function granted(kind: EventKind, decision: Decision | undefined): string {
  if (!decision) return "[]";
  const capabilities = decision.capabilities.length === 0 ? "[]" : JSON.stringify(decision.capabilities);
  if (kind !== "AUTHORIZED" && kind !== "DENIED") return capabilities;
  const { outcome, reason, rules } = decision;
  return `${capabilities},"decision":${JSON.stringify({ outcome, reason: redactText(reason), rules })}`;
}

function failed({ code, message }: Failure): string {
  const text = redactText(message).slice(0, ERROR_TEXT_CHARS).toWellFormed();
  return `,"error":{"code":"${code}","message":${quote(text)}}`;
}

function isolated({ level, runner }: Isolation): string {
  return `,"isolation":{"level":"${level}","runner":${quote(runner)}}`;
}

function rolledBack({ discardedMutations, files, snapshotHash, verified }: RollbackProof): string {
  const proof = { discardedMutations, ...(files && { files: { ...files } }), snapshotHash, verified };
  return `,"rollback":${files ? canonicalJson(proof) : JSON.stringify(proof)}`;
}

/** What a process says of itself is its own text: bounded, without credentials. */
function violated(violations: readonly Violation[]): string {
  const kept = violations.slice(0, MAX_VIOLATIONS).map((violation) => ({
    ...violation,
    description: redactText(violation.description).slice(0, ERROR_TEXT_CHARS).toWellFormed(),
    subject: redactText(violation.subject).slice(0, ERROR_TEXT_CHARS).toWellFormed(),
  }));
  return `,"violations":${canonicalJson(kept)}}`;
}
