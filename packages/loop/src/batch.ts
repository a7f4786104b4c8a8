import { StringDecoder } from "node:string_decoder";
import type { OutputListener } from "@sallyport/engine/ports";
import { type CallAnswer, type Failure, failure, isFailure, type JsonValue } from "@sallyport/protocol";
import { askPerson, type QuestionOutcome } from "./ask-person.ts";
import type { BatchContext, OutputBudget } from "./context.ts";
import { orderOf } from "./context.ts";
import { roomBefore } from "./context-budget.ts";
import type { BatchResult } from "./conversations-port.ts";
import { raceAbort } from "./event-channel.ts";
import type { CallState, LoopEvent, PlannedView } from "./events.ts";
import { type PlannedCall, planBatch } from "./planner.ts";
import { resolved } from "./preview-batch.ts";
import { failureText, fitResult, type ResultText, resultForModel } from "./results.ts";
import { MESSAGES } from "./settings.ts";

const STREAMS = ["stdout", "stderr"] as const;
type Stream = (typeof STREAMS)[number];

/**
 * What a process writes, as text for whoever watches; characters that are cut between two chunks stay whole. While the
 * watchers do not keep up, what comes is joined by stream, so that it takes no more room than its text (NFR-PERF-04).
 */
export function outputChunks(
  call: { index: number; id: string },
  tell: (event: LoopEvent) => void | Promise<void>,
): { take: OutputListener; end(): Promise<void> } {
  const decoders = { stdout: new StringDecoder("utf8"), stderr: new StringDecoder("utf8") };
  const waiting: Record<Stream, string> = { stdout: "", stderr: "" };
  let telling: Promise<void> | undefined;
  const flush = async (before: Promise<void>): Promise<void> => {
    await before;
    for (const kind of STREAMS) {
      const chunk = waiting[kind];
      waiting[kind] = "";
      if (chunk !== "") await tell({ kind, ...call, chunk });
    }
    telling = waiting.stdout + waiting.stderr === "" ? undefined : flush(Promise.resolve());
  };
  const say = (kind: Stream, chunk: string) => {
    if (chunk === "") return;
    if (telling) {
      waiting[kind] += chunk;
      return;
    }
    const told = tell({ kind, ...call, chunk });
    if (told) telling = flush(told);
  };
  return {
    take: (stream, chunk) => say(stream, decoders[stream].write(Buffer.from(chunk))),
    async end() {
      for (const kind of STREAMS) say(kind, decoders[kind].end());
      while (telling) await telling;
    },
  };
}

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
type Refused = Extract<PlannedCall, { kind: "resolved" }>;

/** How a call is to be run. */
interface Execution {
  isApproved: boolean;
  /** What a person made of its arguments. */
  changed: JsonValue | undefined;
  /** As many calls share the room that is left. */
  sharers: number;
}

/** Refused calls take no more than this part of the room, except to say a few words each. */
const REFUSALS_SHARE = 4;
const SHORTEST_REFUSAL_BYTES = 96;

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
  readonly #context: BatchContext;
  readonly #results = new Map<number, BatchResult>();
  #capacityBytes: number;

  constructor(calls: readonly SealedCall[], context: BatchContext) {
    this.#calls = calls;
    this.#context = context;
    this.#capacityBytes = context.capacityBytes;
  }

  /** The results in call order. Rejects only when the journal cannot be written. */
  async run(): Promise<BatchResult[]> {
    const planned = await raceAbort(this.#plan(), this.#context.signal);
    if (!planned) return await this.#cancelAll();
    const runnable = planned.flatMap((call) => this.#runnable(call));
    await this.#refuseAll(planned.filter((call) => call.kind === "resolved"));
    const asked = await askPerson(
      runnable.filter((call) => call.kind === "confirm"),
      this.#context,
    );
    for (const group of this.#groups(runnable)) {
      await Promise.all(group.map((call) => this.#perform(call, asked, group.length)));
    }
    return this.#inOrder();
  }

  async #plan(): Promise<PlannedCall[]> {
    const { settings, engine, conversationId, iteration, tools } = this.#context;
    const caller = { ...this.#context.caller, session: conversationId };
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
    await this.#context.tell({ kind: "planned", calls: all.map(viewOf) });
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
      const mayJoin = this.#context.settings.allowParallel && readsOnly(call);
      if (mayJoin && last?.every(readsOnly) && last.length < SIDE_BY_SIDE) last.push(call);
      else groups.push([call]);
    }
    return groups;
  }

  async #perform(
    call: Runnable,
    asked: ReadonlyMap<number, QuestionOutcome>,
    sharers: number,
  ): Promise<void> {
    const answered = asked.get(call.index);
    if (this.#context.signal.aborted) return await this.#giveUp(call, answered);
    if (answered?.kind === "denied") return await this.#skip(call, answered.message);
    if (answered?.kind === "answered") {
      const { told } = answered;
      return told.isError ? await this.#skip(call, told.content) : await this.#finish(call, told, {});
    }
    const changed = answered?.kind === "approved" ? answered.changed : undefined;
    await this.#execute(call, { isApproved: answered?.kind === "approved", changed, sharers });
  }

  /** A yes that was not used is taken back, so that nobody runs the call later. */
  async #giveUp(call: Runnable, answered: QuestionOutcome | undefined): Promise<void> {
    const reason = MESSAGES.cancelled;
    if (answered?.kind === "approved") await this.#context.engine.cancelCall(call.callId, { reason });
    await this.#skip(call, reason);
  }

  async #execute(call: Runnable, { isApproved, changed, sharers }: Execution): Promise<void> {
    const { rooms, settings } = this.#context;
    const { callId, tool, name } = call;
    const availableBytes = Math.floor(this.#roomFor(call) / sharers);
    const room = rooms.give(callId, { maxOutputBytes: settings.limits.maxOutputBytes, availableBytes });
    try {
      const answer = await runCall(call, { isApproved }, this.#context);
      const told = isFailure(answer) ? failureText(answer, name) : resultForModel(answer, tool);
      const effects = isFailure(answer) ? undefined : answer.effects;
      await this.#finish(call, await this.#fitted(withNote(told, changed), { room, callId }), {
        ...(effects && { effects }),
      });
    } finally {
      rooms.drop(callId);
    }
  }

  /** As the model is told: in the room there is, or that the person cancelled it. */
  async #fitted(told: ResultText, { room, callId }: { room: OutputBudget; callId: string }): Promise<Told> {
    const { signal, conversationId, spill } = this.#context;
    const content = await fitResult(told, { room, callId, conversationId, spill });
    if (signal.aborted && told.isError) return { isError: true, content: MESSAGES.cancelled };
    return { isError: told.isError, content };
  }

  /** What is left, without what those that follow need. */
  #roomFor({ index }: Runnable): number {
    const toCome = this.#calls.filter((call) => call.index > index && !this.#results.has(call.index)).length;
    return roomBefore(toCome, this.#capacityBytes);
  }

  async #finish(
    { index, id }: Pick<Runnable, "index" | "id">,
    { isError, content }: Told,
    more: Pick<Extract<Parameters<BatchContext["tell"]>[0], { kind: "completed" }>, "effects">,
  ): Promise<void> {
    await this.#keep(index, { isError, content });
    await this.#context.tell({ kind: "completed", index, id, isError, content, ...more });
  }

  /** It did not run. */
  async #skip(call: Pick<Runnable, "index" | "id">, reason: string): Promise<void> {
    await this.#keep(call.index, { isError: true, content: reason });
    await this.#context.tell({ kind: "resolved", index: call.index, id: call.id, reason });
  }

  /** Before anything runs. However many they are, most of the room stays for the calls that do (FR-LIM-06). */
  async #refuseAll(refused: readonly Refused[]): Promise<void> {
    const whole = this.#capacityBytes;
    const mayTake = refused.length === this.#calls.length ? whole : Math.floor(whole / REFUSALS_SHARE);
    let shortOnes = refused.reduce((bytes, { reason }) => bytes + fewWords(reason), 0);
    for (const call of refused) {
      shortOnes -= fewWords(call.reason);
      const left = mayTake - (whole - this.#capacityBytes) - shortOnes;
      await this.#refuse(call, Math.max(SHORTEST_REFUSAL_BYTES, left));
    }
    this.#capacityBytes = Math.max(this.#capacityBytes, whole - mayTake);
  }

  async #refuse({ index, id, reason }: Refused, availableBytes: number): Promise<void> {
    const { maxOutputBytes } = this.#context.settings.limits;
    const room = { maxOutputBytes, availableBytes, allowTruncation: true };
    await this.#skip(
      { index, id },
      await fitResult({ isError: true, whole: false, content: reason }, { room }),
    );
  }

  async #keep(index: number, { isError, content }: Told): Promise<void> {
    const { conversations, batchId, clock } = this.#context;
    const result = { isError, content, at: clock.now() };
    if (!(await conversations.journal.result(batchId, index, result))) return;
    this.#results.set(index, result);
    this.#capacityBytes = Math.max(0, this.#capacityBytes - Buffer.byteLength(content));
  }

  #missing(): BatchResult {
    return { isError: true, content: MESSAGES.missingResult, at: this.#context.clock.now() };
  }
}

/** What a refusal takes at least. */
function fewWords(reason: string): number {
  return Math.min(SHORTEST_REFUSAL_BYTES, Buffer.byteLength(reason));
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

/** A call that may run, under the engine's id for it. */
type Runnable = Extract<PlannedCall, { kind: "execute" | "confirm" }> & { callId: string };

/** Runs a call through the engine and shows what it writes meanwhile. When this ends nothing of it is open any more. */
async function runCall(
  call: Runnable,
  { isApproved }: { isApproved: boolean },
  context: BatchContext,
): Promise<CallAnswer | Failure> {
  const { engine, signal, tell, rooms } = context;
  const { index, id, name, callId } = call;
  const chunks = outputChunks({ index, id }, tell);
  await tell({ kind: "started", index, id, name });
  const { availableBytes } = rooms.of(callId);
  // Whatever came to need a person after the person was asked does not run.
  const answer = isApproved
    ? await engine.resume(callId, { signal, onOutput: chunks.take, availableBytes, disclosure: "full" })
    : await engine.call({
        ...orderOf(call, context),
        onOutput: chunks.take,
        availableBytes,
        onApproval: "deny",
      });
  await raceAbort(chunks.end(), signal);
  // Nobody is going to answer or use what is still open of it.
  if (isFailure(answer) || answer.status === "pending_approval") {
    await engine.cancelCall(callId, { reason: "the batch went on without it" });
  }
  return answer;
}
