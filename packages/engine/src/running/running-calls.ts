import type { Accepted, CallAnswer, Failure, LifecycleState, SideEffects } from "@sallyport/protocol";
import type { CallFilter, CallIdentity } from "../ports/calls.ts";

/** How far a tool says it has come. */
export interface ToolProgress {
  percent: number;
  phase: string | undefined;
}

/** What can be seen of an attempt while it is under way, and how to end it when its authority is withdrawn. */
interface RunningAttempt {
  readonly call: Pick<CallIdentity, "version" | "operation">;
  readonly progress: {
    readonly approval?: unknown;
    /** Its grants and its token: revoking one of them ends the call. */
    readonly decision?: { grants?: readonly string[]; token?: { jti: string } } | undefined;
    readonly tool?: { traits: { sideEffects: SideEffects; idempotent: boolean } } | undefined;
  };
  readonly visits: readonly { state: LifecycleState }[];
  /** The journal holds its intent. */
  readonly journaled: boolean;
  /** Its tool's code may have been reached. */
  readonly ran: boolean;
  /** Set when the journal holds it as waiting or queued. */
  readonly waits: object | undefined;
  /** Its end is decided: an abort would change nothing. */
  readonly settled: boolean;
  violate(violation: Failure): void;
}

/** A call under way, as seen from outside. */
interface Running {
  controller: AbortController;
  tenant: string;
  agent: string;
  tool: string;
  startedAt: number;
  /** What was asked for, as far as anybody said. */
  version?: string | undefined;
  operation?: string | undefined;
  /** The attempt it is at; absent before there is one. */
  attempt?: RunningAttempt | undefined;
  progress?: ToolProgress;
}

/** What is known of a call that runs here, whether or not the journal has it. */
export interface RunningNow {
  version: string;
  operation: string;
  startedAt: number;
  /** The last it entered; absent before its tool is known. */
  state?: LifecycleState;
}

/** A call that this process is working on. */
export interface RunningCall extends RunningNow {
  callId: string;
  tenant: string;
  agent: string;
  tool: string;
  /** The journal has it: with its intent, as waiting for approval, or as accepted. */
  onRecord: boolean;
}

interface Keyed {
  digest: string;
  answer: Promise<CallAnswer | Accepted>;
}

/** The calls this process is working on: to cancel them, and to answer a second request with the same key. */
export class RunningCalls {
  readonly #calls = new Map<string, Running>();
  readonly #keys = new Map<string, Keyed>();
  readonly #idle: (() => void)[] = [];
  #closing = false;
  #refusing: string | undefined;

  get size(): number {
    return this.#calls.size;
  }

  enter(callId: string, running: Running): void {
    this.#calls.set(callId, running);
  }

  leave(callId: string): void {
    // A map may keep what it held from the garbage collector for long; the attempt must not hang on it.
    const running = this.#calls.get(callId);
    if (running) running.attempt = undefined;
    this.#calls.delete(callId);
    if (this.#calls.size === 0) for (const wake of this.#idle.splice(0)) wake();
  }

  ids(): Iterable<string> {
    return this.#calls.keys();
  }

  get(callId: string): Readonly<Running> | undefined {
    return this.#calls.get(callId);
  }

  /** The attempt that the call is at now. */
  setAttempt(callId: string, attempt: RunningAttempt): void {
    const running = this.#calls.get(callId);
    if (running) running.attempt = attempt;
  }

  progressed(callId: string, progress: ToolProgress): void {
    const running = this.#calls.get(callId);
    if (running) running.progress = progress;
  }

  /** Newest first. */
  list({ tenant, agent, tool }: Pick<CallFilter, "tenant" | "agent" | "tool">): RunningCall[] {
    const found: RunningCall[] = [];
    for (const [callId, running] of this.#calls) {
      const isWanted =
        (tenant === undefined || running.tenant === tenant) &&
        (agent === undefined || running.agent === agent) &&
        (tool === undefined || running.tool === tool);
      if (isWanted) found.push({ callId, ...describe(running) });
    }
    return found.reverse();
  }

  /** Aborts a running call; false when it is not running here, or its end is settled and the abort would change nothing. */
  cancel(callId: string, reason: string): boolean {
    const running = this.#calls.get(callId);
    if (!running || running.attempt?.settled) return false;
    running.controller.abort(reason);
    return true;
  }

  /** Ends every running call that rests on one of the grants, or on the token, and says which. They end on their own. */
  withdraw(withdrawn: { grants?: readonly string[]; jti?: string }, failed: Failure): string[] {
    const ended: string[] = [];
    for (const [callId, { attempt }] of this.#calls) {
      const { grants = [], token } = attempt?.progress.decision ?? {};
      const isToken = token !== undefined && token.jti === withdrawn.jti;
      if (!isToken && !grants.some((grant) => withdrawn.grants?.includes(grant))) continue;
      ended.push(callId);
      attempt?.violate(failed);
    }
    return ended;
  }

  /**
   * Ends every running call that changes the world outside, because nothing may begin here; they end on their own. One
   * that has not begun goes on later where it is on record already.
   */
  endExternal(failed: Failure): void {
    for (const { attempt } of this.#calls.values()) {
      const traits = attempt?.progress.tool?.traits;
      if (traits?.sideEffects !== "external" || attempt?.settled) continue;
      attempt?.violate(attempt.ran ? cutOff(failed, traits) : failed);
    }
  }

  /** Resolves once no call is under way. */
  idle(): Promise<void> {
    if (this.#calls.size === 0) return Promise.resolve();
    return new Promise((resolve) => this.#idle.push(resolve));
  }

  /** From now on new calls are refused with this message; those that run, run on. Says how many do. */
  refuseMore(message: string): number {
    this.#refusing = message;
    return this.#calls.size;
  }

  /** Why new calls are refused; undefined while they are not. */
  get refusing(): string | undefined {
    return this.#refusing;
  }

  /** True once the engine is closing: a call that waits for a person then stays on record as waiting. */
  get closing(): boolean {
    return this.#closing;
  }

  cancelAll(reason: string): void {
    this.#closing = true;
    for (const { controller } of this.#calls.values()) controller.abort(reason);
  }

  keyed(key: string): Keyed | undefined {
    return this.#keys.get(key);
  }

  /** Holds the key while the answer is being made. */
  hold(key: string, keyed: Keyed): void {
    this.#keys.set(key, keyed);
    const letGo = () => this.#keys.delete(key);
    keyed.answer.then(letGo, letGo);
  }
}

/** Said of a run that had begun: asking for it again may do it twice. */
function cutOff(failed: Failure, { idempotent }: { idempotent: boolean }): Failure {
  const message = "The run was ended, because this process could not renew its lease on the store in time.";
  const advice = "Find out what the tool did before you ask for it again.";
  return { ...failed, message, retryable: idempotent, ...(!idempotent && { advice }) };
}

/** What a call under way is, as far as it is known by now. */
export function runningNow({ attempt, startedAt, version, operation }: Readonly<Running>): RunningNow {
  const state = attempt?.visits.at(-1)?.state;
  return {
    version: attempt?.call.version ?? version ?? "*",
    operation: attempt?.call.operation ?? operation ?? "",
    startedAt,
    ...(state && { state }),
  };
}

function describe(running: Readonly<Running>): Omit<RunningCall, "callId"> {
  const { tenant, agent, tool, attempt } = running;
  const onRecord =
    attempt !== undefined &&
    (attempt.journaled || attempt.waits !== undefined || attempt.progress.approval !== undefined);
  return { tenant, agent, tool, ...runningNow(running), onRecord };
}
