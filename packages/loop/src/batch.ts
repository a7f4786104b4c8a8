import { type CallAnswer, type Failure, isFailure, type JsonValue } from "@sallyport/protocol";
import { askPerson, type QuestionOutcome } from "./ask-person.ts";
import { type BatchContext, orderOf, type SealedCall } from "./context.ts";
import { roomBefore } from "./context-budget.ts";
import type { BatchResult } from "./conversations-port.ts";
import { outputChunks, raceAbort } from "./event-channel.ts";
import type { CallState, LoopEvent, PlannedView } from "./events.ts";
import { type PlannedCall, planBatch } from "./planner.ts";
import { failureText, fitResult, type ResultText, resultForModel } from "./results.ts";
import { MESSAGES } from "./settings.ts";

/** A call that may run, under the engine's id for it. */
type Runnable = Exclude<PlannedCall, { kind: "resolved" }> & { callId: string };
type Refused = Extract<PlannedCall, { kind: "resolved" }>;
type Named = Pick<SealedCall, "index" | "id">;
type Told = Pick<ResultText, "isError" | "content">;
type Completed = Extract<LoopEvent, { kind: "completed" }>;

/** Refused calls take no more than this part of the room, except to say a few words each. */
const REFUSALS_SHARE = 4;
const SHORTEST_REFUSAL_BYTES = 96;

/** As many calls of one agent the engine lets run at once. */
const SIDE_BY_SIDE = 4;

/**
 * Takes a batch through: plan all → ask about those that need a person, before anything runs → run the rest in call
 * order. Every call ends with exactly one result, which is in the journal before the next one starts (FR-EXE-01).
 */
export class BatchRun {
  readonly #calls: readonly SealedCall[];
  readonly #context: BatchContext;
  readonly #results = new Map<number, BatchResult>();
  #capacityBytes: number;

  constructor(calls: readonly SealedCall[], context: BatchContext) {
    this.#calls = calls;
    this.#context = context;
    this.#capacityBytes = context.capacityBytes;
  }

  /** The calls with their results, in call order. Rejects only when the journal cannot be written. */
  async run(): Promise<(SealedCall & { result?: BatchResult })[]> {
    const planned = await raceAbort(this.#plan(), this.#context.signal);
    if (planned) await this.#perform(planned);
    // Something that was asked for while planning does not answer.
    else for (const call of this.#calls) await this.#skip(call, MESSAGES.cancelled);
    return this.#calls.map((call) => {
      const result = this.#results.get(call.index);
      return { ...call, ...(result && { result }) };
    });
  }

  async #plan(): Promise<PlannedCall[]> {
    const { settings, engine, conversationId, iteration, tools } = this.#context;
    const caller = { ...this.#context.caller, session: conversationId };
    const planned = await planBatch(this.#calls, {
      mode: settings.mode,
      settings,
      tools: new Map(tools.map((tool) => [tool.name, tool])),
      conversationId,
      iteration,
      engine: { plan: (request) => engine.plan({ ...request, caller }) },
    });
    await this.#context.tell({ kind: "planned", calls: planned.map(viewOf) });
    return planned;
  }

  async #perform(planned: readonly PlannedCall[]): Promise<void> {
    const callIds = new Map(this.#calls.map(({ index, callId }) => [index, callId]));
    const runnable = planned.flatMap((call): Runnable[] => {
      const callId = callIds.get(call.index);
      return call.kind === "resolved" || callId === undefined ? [] : [{ ...call, callId }];
    });
    await this.#refuseAll(planned.filter((call) => call.kind === "resolved"));
    const questions = runnable.filter((call) => call.kind === "confirm");
    const asked = await askPerson(questions, this.#context);
    for (const group of this.#groups(runnable)) {
      await Promise.all(group.map((call) => this.#runOne(call, asked.get(call.index), group.length)));
    }
  }

  /** One after the other; where that is allowed, neighbours that only read go side by side. */
  #groups(calls: readonly Runnable[]): Runnable[][] {
    const groups: Runnable[][] = [];
    for (const call of calls) {
      const last = groups.at(-1);
      const mayJoin = this.#context.settings.allowParallel && readsOnly(call);
      if (mayJoin && last?.every(readsOnly) && last.length < SIDE_BY_SIDE) last.push(call);
      else groups.push([call]);
    }
    return groups;
  }

  /** `sharers`: as many calls share the room that is left. */
  async #runOne(call: Runnable, answered: QuestionOutcome | undefined, sharers: number): Promise<void> {
    const { engine, signal } = this.#context;
    if (signal.aborted) {
      const reason = MESSAGES.cancelled;
      // A yes that was not used is taken back, so that nobody runs the call later.
      if (answered?.kind === "approved") await engine.cancelCall(call.callId, { reason });
      return await this.#skip(call, reason);
    }
    if (answered?.kind === "denied") return await this.#skip(call, answered.message);
    if (answered?.kind !== "answered") return await this.#execute(call, answered, sharers);
    const told = resultForModel(answered.answer, call.tool);
    await (told.isError ? this.#skip(call, told.content) : this.#finish(call, told));
  }

  async #execute(
    call: Runnable,
    approved: { changed?: JsonValue } | undefined,
    sharers: number,
  ): Promise<void> {
    const { outputBudgets, settings, signal } = this.#context;
    const { callId, tool, name } = call;
    const { maxOutputBytes } = settings.limits;
    const availableBytes = Math.floor(this.#roomFor(call) / sharers);
    const room = outputBudgets.give(callId, { maxOutputBytes, availableBytes });
    try {
      const answer = await runCall(call, approved !== undefined, this.#context);
      const plain = isFailure(answer) ? failureText(answer, name) : resultForModel(answer, tool);
      const told = withNote(plain, approved?.changed);
      const maxBytes = Math.min(maxOutputBytes, availableBytes);
      const fitted = room.allowTruncation
        ? await fitResult(told, maxBytes, { ...this.#context, callId })
        : told.content;
      const content = signal.aborted && told.isError ? MESSAGES.cancelled : fitted;
      const effects = isFailure(answer) ? undefined : answer.effects;
      await this.#finish(call, { isError: told.isError, content }, effects && { effects });
    } finally {
      outputBudgets.drop(callId);
    }
  }

  /** What is left, without what those that follow need. */
  #roomFor({ index }: Runnable): number {
    const toCome = this.#calls.filter((call) => call.index > index && !this.#results.has(call.index)).length;
    return roomBefore(toCome, this.#capacityBytes);
  }

  async #finish({ index, id }: Named, told: Told, more: Pick<Completed, "effects"> = {}): Promise<void> {
    const { isError, content } = told;
    await this.#keep(index, told);
    await this.#context.tell({ kind: "completed", index, id, isError, content, ...more });
  }

  /** It did not run. */
  async #skip({ index, id }: Named, reason: string): Promise<void> {
    await this.#keep(index, { isError: true, content: reason });
    await this.#context.tell({ kind: "resolved", index, id, reason });
  }

  /** Before anything runs. However many they are, most of the room stays for the calls that do (FR-LIM-06). */
  async #refuseAll(refused: readonly Refused[]): Promise<void> {
    const whole = this.#capacityBytes;
    const { maxOutputBytes } = this.#context.settings.limits;
    const mayTake = refused.length === this.#calls.length ? whole : Math.floor(whole / REFUSALS_SHARE);
    let shortOnes = refused.reduce((bytes, { reason }) => bytes + fewWords(reason), 0);
    for (const call of refused) {
      shortOnes -= fewWords(call.reason);
      const left = mayTake - (whole - this.#capacityBytes) - shortOnes;
      const maxBytes = Math.min(maxOutputBytes, Math.max(SHORTEST_REFUSAL_BYTES, left));
      const told = { isError: true, whole: false, content: call.reason };
      await this.#skip(call, await fitResult(told, maxBytes));
    }
    this.#capacityBytes = Math.max(this.#capacityBytes, whole - mayTake);
  }

  async #keep(index: number, { isError, content }: Told): Promise<void> {
    const { conversations, batchId, clock } = this.#context;
    const result = { isError, content, at: clock.now() };
    if (!(await conversations.journal.result(batchId, index, result))) return;
    this.#results.set(index, result);
    this.#capacityBytes = Math.max(0, this.#capacityBytes - Buffer.byteLength(content));
  }
}

/** What a refusal takes at least. */
function fewWords(reason: string): number {
  return Math.min(SHORTEST_REFUSAL_BYTES, Buffer.byteLength(reason));
}

/** The model has to know that what ran is not what it asked for. */
function withNote(told: ResultText, changed: JsonValue | undefined): ResultText {
  if (changed === undefined || told.whole) return told;
  const note = `[A person changed the arguments to ${JSON.stringify(changed)}]`;
  return { ...told, content: `${note}\n${told.content}` };
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

/** Runs a call through the engine and shows what it writes meanwhile. When this ends nothing of it is open any more. */
async function runCall(
  call: Runnable,
  isApproved: boolean,
  context: BatchContext,
): Promise<CallAnswer | Failure> {
  const { engine, signal, tell, outputBudgets } = context;
  const { index, id, name, callId } = call;
  const chunks = outputChunks({ index, id }, tell);
  await tell({ kind: "started", index, id, name });
  const watching = { onOutput: chunks.take, availableBytes: outputBudgets.of(callId).availableBytes };
  // Whatever came to need a person after the person was asked does not run.
  const answer = isApproved
    ? await engine.resume(callId, { ...watching, signal, disclosure: "full" })
    : await engine.call({ ...orderOf(call, context), ...watching, onApproval: "deny" });
  await raceAbort(chunks.end(), signal);
  // Nobody is going to answer or use what is still open of it.
  if (isFailure(answer) || answer.status === "pending_approval") {
    await engine.cancelCall(callId, { reason: "the batch went on without it" });
  }
  return answer;
}
