import { failure, isFailure, type JsonValue } from "@sallyport/protocol";
import type { BatchResult } from "../ports/conversations.ts";
import type { BatchAround } from "./around.ts";
import { type Asked, askPerson } from "./ask-person.ts";
import { orderOf } from "./call-order.ts";
import { fitResult } from "./fit-result.ts";
import type { CallState, PlannedView } from "./loop-events.ts";
import { MESSAGES } from "./loop-settings.ts";
import { outputChunks } from "./output-chunks.ts";
import { resolved } from "./planned-call.ts";
import { type PlannedCall, planBatch } from "./planner.ts";
import { failureText, type ResultText } from "./result-text.ts";
import { toldOf } from "./told.ts";
import { orAborted } from "./while-wanted.ts";

/** A call of a sealed batch. */
export interface SealedCall {
  index: number;
  id: string;
  name: string;
  arguments: string;
  callId: string;
  /** The model stopped before it was complete. */
  isCut?: boolean;
}

type Told = Pick<ResultText, "isError" | "content">;
type Runnable = Extract<PlannedCall, { kind: "execute" | "confirm" }> & { callId: string };

/** Kept free for each call that is still to come. */
const LEAST_BYTES = 512;

const CUT_OFF = failure("E3901", {
  message: "The call was cut off before its arguments were complete.",
  advice: "Make it again, shorter.",
});

/** As many calls of one agent the engine lets run at once. */
const SIDE_BY_SIDE = 4;

/**
 * Takes a batch through: plan all → ask about those that need a person, before anything runs → run the rest in call
 * order. Every call ends with exactly one result, which is in the journal before the next one starts (FR-EXE-01).
 */
export class BatchRun {
  readonly #calls: readonly SealedCall[];
  readonly #around: BatchAround;
  readonly #results = new Map<number, BatchResult>();
  #capacityBytes: number;

  constructor(calls: readonly SealedCall[], around: BatchAround) {
    this.#calls = calls;
    this.#around = around;
    this.#capacityBytes = around.capacityBytes;
  }

  /** The results in call order. Rejects only when the journal cannot be written. */
  async run(): Promise<BatchResult[]> {
    const planned = await orAborted(this.#plan(), this.#around.signal);
    if (!planned) return await this.#cancelAll();
    for (const call of planned) if (call.kind === "resolved") await this.#refuse(call);
    const runnable = planned.flatMap((call) => this.#runnable(call));
    const asked = await askPerson(
      runnable.filter((call) => call.kind === "confirm"),
      this.#around,
    );
    for (const group of this.#groups(runnable)) {
      await Promise.all(group.map((call) => this.#perform(call, asked, group.length)));
    }
    return this.#inOrder();
  }

  async #plan(): Promise<PlannedCall[]> {
    const { settings, engine, conversationId, iteration, tools } = this.#around;
    const caller = { ...this.#around.caller, session: conversationId };
    const whole = this.#calls.filter(({ isCut }) => !isCut);
    const planned = await planBatch(whole, {
      mode: settings.mode,
      settings,
      tools: new Map(tools.map((tool) => [tool.name, tool])),
      conversationId,
      iteration,
      engine: { plan: (request) => engine.plan({ ...request, caller }) },
    });
    const cut = this.#calls.filter(({ isCut }) => isCut).map((call) => resolved(call, CUT_OFF));
    const all = [...planned, ...cut].toSorted((a, b) => a.index - b.index);
    await this.#around.tell({ kind: "planned", calls: all.map(viewOf) });
    return all;
  }

  /** Something that was asked for while planning does not answer. */
  async #cancelAll(): Promise<BatchResult[]> {
    for (const call of this.#calls) await this.#skip(call, MESSAGES.cancelled);
    return this.#inOrder();
  }

  #inOrder(): BatchResult[] {
    return this.#calls.map(({ index }) => this.#results.get(index) ?? this.#missing());
  }

  #runnable(call: PlannedCall): Runnable[] {
    const callId = this.#calls.find(({ index }) => index === call.index)?.callId;
    return call.kind === "resolved" || callId === undefined ? [] : [{ ...call, callId }];
  }

  /** One after the other; where that is allowed, neighbours that only read go side by side. */
  #groups(calls: readonly Runnable[]): Runnable[][] {
    const groups: Runnable[][] = [];
    for (const call of calls) {
      const last = groups.at(-1);
      const mayJoin = this.#around.settings.allowParallel && readsOnly(call);
      if (mayJoin && last?.every(readsOnly) && last.length < SIDE_BY_SIDE) last.push(call);
      else groups.push([call]);
    }
    return groups;
  }

  async #perform(call: Runnable, asked: ReadonlyMap<number, Asked>, sharers: number): Promise<void> {
    const answered = asked.get(call.index);
    if (this.#around.signal.aborted) return await this.#giveUp(call, answered);
    if (answered?.kind === "denied") return await this.#skip(call, answered.message);
    if (answered?.kind === "answered") {
      const { told } = answered;
      return told.isError ? await this.#skip(call, told.content) : await this.#finish(call, told, {});
    }
    const changed = answered?.kind === "approved" ? answered.changed : undefined;
    await this.#execute(call, { isApproved: answered?.kind === "approved", changed, sharers });
  }

  /** A yes that was not used is taken back, so that nobody runs the call later. */
  async #giveUp(call: Runnable, answered: Asked | undefined): Promise<void> {
    const reason = MESSAGES.cancelled;
    if (answered?.kind === "approved") await this.#around.engine.cancelCall(call.callId, { reason });
    await this.#skip(call, reason);
  }

  async #execute(
    call: Runnable,
    {
      isApproved,
      changed,
      sharers,
    }: { isApproved: boolean; changed: JsonValue | undefined; sharers: number },
  ): Promise<void> {
    const { engine, rooms, settings, signal, tell, conversationId } = this.#around;
    const { index, id, name, callId, tool } = call;
    const availableBytes = Math.floor(this.#roomFor(call) / sharers);
    const room = rooms.give(callId, { maxOutputBytes: settings.limits.maxOutputBytes, availableBytes });
    const chunks = outputChunks({ index, id }, tell);
    try {
      await tell({ kind: "started", index, id, name });
      const onOutput = chunks.take;
      // Whatever came to need a person after the person was asked does not run.
      const answer = isApproved
        ? await engine.resume(callId, { signal, onOutput, disclosure: "full" })
        : await engine.call({ ...orderOf(call, this.#around), onOutput, onApproval: "deny" });
      await orAborted(chunks.end(), signal);
      // Nobody is going to answer or use what is still open of it.
      if (isFailure(answer) || answer.status === "pending_approval") {
        await engine.cancelCall(callId, { reason: "the batch went on without it" });
      }
      const told = isFailure(answer) ? failureText(answer, name) : toldOf(answer, tool);
      const content = await fitResult(withNote(told, changed), {
        room,
        callId,
        conversationId,
        spill: this.#around.spill,
      });
      const cancelled = signal.aborted && told.isError;
      await this.#finish(
        call,
        cancelled ? { isError: true, content: MESSAGES.cancelled } : { ...told, content },
        {
          ...(!isFailure(answer) && answer.effects && { effects: answer.effects }),
        },
      );
    } finally {
      rooms.drop(callId);
    }
  }

  /** What is left, without what those that follow need to say anything at all. */
  #roomFor({ index }: Runnable): number {
    const toCome = this.#calls.filter((call) => call.index > index && !this.#results.has(call.index)).length;
    return Math.max(0, this.#capacityBytes - toCome * LEAST_BYTES);
  }

  async #finish(
    { index, id }: Pick<Runnable, "index" | "id">,
    { isError, content }: Told,
    more: Pick<Extract<Parameters<BatchAround["tell"]>[0], { kind: "completed" }>, "effects">,
  ): Promise<void> {
    await this.#keep(index, { isError, content });
    await this.#around.tell({ kind: "completed", index, id, isError, content, ...more });
  }

  /** It did not run. */
  async #skip(call: Pick<Runnable, "index" | "id">, reason: string): Promise<void> {
    await this.#keep(call.index, { isError: true, content: reason });
    await this.#around.tell({ kind: "resolved", index: call.index, id: call.id, reason });
  }

  async #refuse({ index, id, reason }: Extract<PlannedCall, { kind: "resolved" }>): Promise<void> {
    const { maxOutputBytes } = this.#around.settings.limits;
    const room = { maxOutputBytes, availableBytes: this.#capacityBytes, allowTruncation: true };
    await this.#skip(
      { index, id },
      await fitResult({ isError: true, whole: false, content: reason }, { room }),
    );
  }

  async #keep(index: number, { isError, content }: Told): Promise<void> {
    const { conversations, batchId, clock } = this.#around;
    const result = { isError, content, at: clock.now() };
    if (!(await conversations.journal.result(batchId, index, result))) return;
    this.#results.set(index, result);
    this.#capacityBytes = Math.max(0, this.#capacityBytes - Buffer.byteLength(content));
  }

  #missing(): BatchResult {
    return { isError: true, content: MESSAGES.missingResult, at: this.#around.clock.now() };
  }
}

/** The model has to know that what ran is not what it asked for. */
function withNote(told: ResultText, changed: JsonValue | undefined): ResultText {
  if (changed === undefined || told.whole) return told;
  return {
    ...told,
    content: `[A person changed the arguments to ${JSON.stringify(changed)}]\n${told.content}`,
  };
}

function readsOnly(call: Runnable): boolean {
  return call.kind === "execute" && !call.tool.sideEffects;
}

function viewOf(call: PlannedCall): PlannedView {
  const { index, id, name, summary, risk } = call;
  return { index, id, name, summary, risk, call: stateOf(call) };
}

function stateOf(call: PlannedCall): CallState {
  if (call.kind === "resolved") return { state: "resolved", reason: call.reason };
  return { state: call.kind === "confirm" ? "asking" : "pending" };
}
