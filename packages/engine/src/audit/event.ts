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
import type { CallIdentity } from "../ports/calls.ts";
import type { CapabilityGrant, GrantRecord, StandingGrant } from "../ports/grants.ts";
import type { ToolRecord } from "../ports/tools.ts";
import { boundedText, redact, redactText } from "../redact/redact.ts";
import { auditBody } from "./chain.ts";

/** What is known of an execution when an event is written (R1-8.1). */
export interface EventFacts {
  call: CallIdentity;
  /** Whose chain the event goes to, where nothing has shown that the caller belongs to the tenant it names. */
  chain?: string | undefined;
  /** Whether a token names the user; otherwise it is the agent's own word. */
  userVerified?: boolean | undefined;
  executionId: string;
  /** Part of the event ids where several walks share the execution id. */
  run?: string | undefined;
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
  | "ESCAPE_ATTEMPT"
  | "UNDO_REQUESTED"
  | "EFFECTS_UNDONE"
  | "APPROVAL_REQUESTED"
  | "APPROVAL_VOTED"
  | "APPROVAL_GIVEN"
  | "APPROVAL_EDITED"
  | "APPROVAL_DENIED"
  | "APPROVAL_EXPIRED"
  | "APPROVAL_WITHDRAWN";

const MAX_TEXT_CHARS = 500;
const MAX_VIOLATIONS = 32;

/** Text that JSON holds as it is: most names and ids are short and of these characters. */
const PLAIN = /^[\x20\x21\x23-\x5b\x5d-\x7e]{0,63}$/;

function quote(text: string): string {
  return PLAIN.test(text) ? `"${text}"` : JSON.stringify(text);
}

/** Makes the text of an object once: a runner says the same objects of every call. */
function remembered<T extends object>(write: (value: T) => string): (value: T) => string {
  const texts = new WeakMap<T, string>();
  return (value) => {
    const known = texts.get(value);
    if (known !== undefined) return known;
    const text = write(value);
    texts.set(value, text);
    return text;
  };
}

const enforced = remembered(
  (enforcement: Enforcement) => `,"enforcement":${canonicalJson({ ...enforcement })}`,
);

const isolated = remembered(
  ({ level, runner }: Isolation) => `,"isolation":{"level":"${level}","runner":${quote(runner)}}`,
);

/**
 * Writes the audit events of one execution in canonical JSON. Most of what five events say is the same, so what
 * identifies the execution is written once for all events of a unit, and an event holds only what is its own. Keys come
 * in sorted order; a test holds the result equal to the RFC 8785 form.
 */
export class EventWriter {
  readonly #common: string;
  readonly #eventId: string;
  readonly #tenant: string;

  /** What identifies the execution is fixed from here on. */
  constructor(facts: EventFacts) {
    const { call, chain, executionId, inputHash } = facts;
    const { agent, callId, operation, session, tenant, tool, user, version } = call;
    const id = quote(callId);
    const execution = executionId === callId ? id : quote(executionId);
    const walk = facts.run === undefined ? execution : quote(`${executionId}.${facts.run}`);
    this.#tenant = chain ?? tenant;
    this.#eventId = `,"eventId":${walk.slice(0, -1)}:`;
    let common = `{"agent":${quote(agent)},"callId":${id}`;
    if (chain !== undefined) common += `,"claimedTenant":${quote(tenant)}`;
    common += `,"executionId":${execution},"inputHash":"${inputHash}","operation":${quote(operation)}`;
    if (session !== undefined) common += `,"session":${quote(session)}`;
    common += `,"toolId":${quote(tool)},"toolVersion":${quote(version)}`;
    if (user !== undefined)
      common += `,"userId":${quote(user)},"userVerified":${facts.userVerified === true}`;
    this.#common = `${common}}`;
  }

  /** An event for `body`: what is its own. Members come in the order of their names. */
  write(kind: EventKind, facts: EventFacts, { ordinal, at }: { ordinal: number; at: number }): string {
    const { approval, durationMs, effectsHash, enforcement, error, isolation, decision, note } = facts;
    let text = approval ? `{"approval":${canonicalJson(approval)},"capabilities":` : `{"capabilities":`;
    text += granted(kind, facts);
    if (durationMs !== undefined) text += `,"duration":${durationMs}`;
    if (effectsHash !== undefined) text += `,"effectsHash":"${effectsHash}"`;
    if (enforcement) text += enforced(enforcement);
    if (error) text += failed(error);
    text += `${this.#eventId}${ordinal}"`;
    if (isolation) text += isolated(isolation);
    if (decision?.token) text += `,"jti":${quote(decision.token.jti)}`;
    if (note !== undefined) text += `,"note":${quote(redactText(note))}`;
    if (facts.outputHash !== undefined) text += `,"outputHash":"${facts.outputHash}"`;
    if (decision) text += `,"policyVersion":${quote(decision.policyVersion)}`;
    if (facts.rollback) text += rolledBack(facts.rollback);
    text += `,"state":"${kind}","timestamp":${at}`;
    if (facts.uses !== undefined) text += `,"uses":${canonicalJson(facts.uses)}`;
    return facts.violations ? text + violated(facts.violations) : `${text}}`;
  }

  /** The body of a unit of which every event was written here. */
  body(events: readonly string[]): string {
    return auditBody(this.#tenant, events, this.#common);
  }

  /** An event of this writer with everything it says, for a unit whose other events are of something else. */
  whole(event: string): string {
    return canonicalJson({ ...JSON.parse(this.#common), ...JSON.parse(event) });
  }
}

/** The capabilities held, and the decision itself where it was made, with the stored grants it rests on. */
function granted(kind: EventKind, { decision }: EventFacts): string {
  if (!decision) return "[]";
  const capabilities = decision.capabilities.length === 0 ? "[]" : JSON.stringify(decision.capabilities);
  if (kind !== "AUTHORIZED" && kind !== "DENIED") return capabilities;
  const { grants, outcome, reason, rules } = decision;
  const made = { ...(grants && { grants }), outcome, reason: redactText(reason), rules };
  return `${capabilities},"decision":${JSON.stringify(made)}`;
}

function failed({ code, message }: Failure): string {
  return `,"error":{"code":"${code}","message":${quote(boundedText(message, MAX_TEXT_CHARS))}}`;
}

function rolledBack({ discardedMutations, files, snapshotHash, verified }: RollbackProof): string {
  const proof = { discardedMutations, ...(files && { files: { ...files } }), snapshotHash, verified };
  return `,"rollback":${files ? canonicalJson(proof) : JSON.stringify(proof)}`;
}

function violated(violations: readonly Violation[]): string {
  const kept = violations.slice(0, MAX_VIOLATIONS).map((violation) => ({
    ...violation,
    description: boundedText(violation.description, MAX_TEXT_CHARS),
    subject: boundedText(violation.subject, MAX_TEXT_CHARS),
  }));
  return `,"violations":${canonicalJson(kept)}}`;
}

/** What happened to a grant (RFC-0003). */
export type GrantEventKind = "GRANT_ISSUED" | "GRANT_DELEGATED" | "GRANT_REVOKED";

/** The event that a grant was given or taken; canonical JSON like every other, without secrets. */
export function grantEvent(
  kind: GrantEventKind,
  record: GrantRecord,
  at: { eventId: string; timestamp: number },
): string {
  const { grantId, grantor, issuedAt, expiresAt, signature, revokedBy, revokedBecause } = record;
  const revocation = {
    revokedBy: boundedText(revokedBy ?? "", MAX_TEXT_CHARS),
    reason: boundedText(revokedBecause ?? "", MAX_TEXT_CHARS),
  };
  const event = {
    ...at,
    state: kind,
    grantId,
    grantKind: record.kind,
    grantor: boundedText(grantor, MAX_TEXT_CHARS),
    issuedAt,
    expiresAt,
    signature,
    ...(record.kind === "capability" ? capabilityPart(record) : standingPart(record)),
    ...(kind === "GRANT_REVOKED" && revocation),
  };
  return canonicalJson(plain(event));
}

function capabilityPart(record: CapabilityGrant) {
  const { capabilityId, grantee, delegatable, delegationDepth, parentGrantId } = record;
  const scope = redact(plain(record.scope));
  const constraints = redact(plain(record.constraints));
  return { capabilityId, grantee, scope, constraints, delegatable, delegationDepth, parentGrantId };
}

function standingPart(record: StandingGrant) {
  const { tier, tool: toolId, versions, operations, agent, session, project, approvalId } = record;
  const patterns = redact(plain(record.arguments));
  return { tier, toolId, versions, operations, agent, arguments: patterns, session, project, approvalId };
}

/** Grants are JSON, though their types do not say so; fields that are undefined are left out. */
function plain(part: object): JsonValue {
  return JSON.parse(JSON.stringify(part));
}

export type ToolChange = "registered" | "deprecated" | "removed" | "quarantined" | "released";

/** Who put a version into quarantine or took it out, and why: a person, or the engine itself. */
export interface ToolActor {
  by: string;
  because: string;
  callId?: string | undefined;
}

/** The chain that keeps what happens to the engine itself, not to a tenant's calls. */
export const SYSTEM_TENANT = "sallyport";

/** The event that a tool version came, is on its way out, or is kept apart; canonical JSON like every other. */
export function toolEvent(
  change: ToolChange,
  record: ToolRecord,
  at: { eventId: string; timestamp: number; actor?: ToolActor | undefined },
): string {
  const { manifest, manifestHash, retirement } = record;
  const { actor } = at;
  return JSON.stringify({
    change,
    eventId: at.eventId,
    manifestHash,
    replacement: retirement.replacement,
    state: "TOOL_CHANGED",
    timestamp: at.timestamp,
    toolId: manifest.id,
    toolVersion: manifest.version,
    word: actor && {
      because: boundedText(actor.because, MAX_TEXT_CHARS),
      by: boundedText(actor.by, MAX_TEXT_CHARS),
      callId: actor.callId,
    },
  });
}
