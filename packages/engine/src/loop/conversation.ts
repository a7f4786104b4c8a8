import { type Failure, failure, SallyportError } from "@sallyport/protocol";
import type { BatchResult, OpenBatch, ToolUseTurn, Turn } from "../ports/conversations.ts";
import { definitionsOf, offeredTools } from "./advertise.ts";
import type { LoopParts } from "./around.ts";
import { BatchRun, type SealedCall } from "./batch-run.ts";
import { capacityBytes, estimateTokens } from "./capacity.ts";
import { EventChannel } from "./event-channel.ts";
import type { ConversationDoor, LoopEvent, LoopState, TurnEnd } from "./loop-events.ts";
import { MESSAGES } from "./loop-settings.ts";
import { AnswerInTheMaking, type AnswerPart, type AskedCall, type ModelAnswer } from "./model-answer.ts";
import { promptOf } from "./provider-prompt.ts";

import { knownResults, resultsAfterCrash, sealInterrupted } from "./recovery.ts";
import { whileWanted } from "./while-wanted.ts";

const TITLE_CHARS = 80;
/** Answers with tool calls after the limit of iterations before the turn is ended, so that no model goes on for ever. */
const STUBBORN_ANSWERS = 3;

/**
 * One conversation: person → model → tools → model … → person.
 *
 *   idle → streaming ─(no calls)→ idle
 *             └(calls)→ sealed ─ parse_only → awaiting_results ─(all given)→ streaming
 *                              └ enabled    → awaiting_approval? → executing → streaming
 *   recovery ─(resume or discard)→ streaming, or idle where nothing runs by itself
 *
 * Everything that happened is on disk before it is shown or acted upon; nothing ever runs twice.
 */
export class Conversation implements ConversationDoor {
  readonly id: string;
  readonly #parts: LoopParts;
  readonly #channel = new EventChannel();
  #state: LoopState = { state: "idle" };
  #turn: AbortController | undefined;
  #usedTokens: number | undefined;
  /** What is in the store, so that it is not read anew for every answer. */
  readonly #history: Turn[];

  private constructor(id: string, parts: LoopParts, history: Turn[]) {
    this.id = id;
    this.#parts = parts;
    this.#history = history;
  }

  /** Begins a new conversation, on record. */
  static async begin(parts: LoopParts, { cwd }: { cwd: string }): Promise<Conversation> {
    const { conversations, ids, clock, model } = parts;
    const conversationId = ids.next();
    const at = clock.now();
    await conversations.create({ conversationId, model, cwd, title: "", createdAt: at, updatedAt: at });
    return new Conversation(conversationId, parts, []);
  }

  /** Goes on with an earlier one; E3917 when there is none of that id. What a crash left open is found here. */
  static async reopen(conversationId: string, parts: LoopParts): Promise<Conversation | Failure> {
    const { conversations, clock, model } = parts;
    if (!(await conversations.get(conversationId))) {
      return failure("E3917", { message: `There is no conversation ${conversationId}.` });
    }
    await conversations.update(conversationId, { model, at: clock.now() });
    const conversation = new Conversation(conversationId, parts, await conversations.turns(conversationId));
    await conversation.#findOpenBatch();
    return conversation;
  }

  get state(): LoopState {
    return this.#state;
  }

  /** Tokens the conversation took when the model last said so, or an estimate; undefined before the first answer. */
  get usedTokens(): number | undefined {
    return this.#usedTokens;
  }

  /** The history so far. */
  get turns(): readonly Turn[] {
    return this.#history;
  }

  listen(listener: (event: LoopEvent) => void | Promise<void>): () => void {
    return this.#channel.listen(listener);
  }

  cancel(): void {
    if (this.#turn) this.#turn.abort(MESSAGES.cancelled);
    else if (this.#state.state === "awaiting_results") void this.#giveUpWaiting();
  }

  send(text: string): Promise<TurnEnd> {
    return this.#inTurn("idle", async (signal) => {
      const { conversations, clock } = this.#parts;
      const at = clock.now();
      const isFirst = this.#history.length === 0;
      const said: Turn = { kind: "user", text, at };
      await conversations.append(this.id, [said]);
      this.#history.push(said);
      await conversations.update(this.id, { at, ...(isFirst && { title: titleOf(text) }) });
      return await this.#converse(signal, 1);
    });
  }

  async submit(id: string, result: { content: string; isError: boolean }): Promise<TurnEnd | Failure> {
    const batch = await this.#parts.conversations.journal.openOf(this.id);
    if (this.#state.state !== "awaiting_results" || !batch) {
      return failure("E3958", {
        message: "No tool call waits for a result.",
        advice: "Say something first.",
      });
    }
    const call = batch.calls.find((one) => one.id === id && !one.result);
    if (!call) return unknownCall(id, batch);
    const at = this.#parts.clock.now();
    await this.#parts.conversations.journal.result(batch.batchId, call.index, { ...result, at });
    return await this.#inTurn("awaiting_results", async (signal) => await this.#afterManualResult(signal));
  }

  recover(choice: "resume" | "discard"): Promise<TurnEnd> {
    return this.#inTurn("recovery", async (signal) => {
      const batch = await this.#parts.conversations.journal.openOf(this.id);
      if (!batch) return { kind: "done", text: "" };
      const sealed = batch.phase === "sealed" ? batch : await this.#sealInterrupted(batch);
      const results = await resultsAfterCrash(sealed, choice, this.#parts);
      await this.#closeBatch(sealed, results);
      if (this.#parts.settings.mode !== "enabled") return { kind: "done", text: "" };
      return await this.#converse(signal, 1);
    });
  }

  async #sealInterrupted(batch: OpenBatch): Promise<OpenBatch> {
    const { sealed, turns } = await sealInterrupted(batch, this.#parts);
    this.#history.push(...turns);
    return sealed;
  }

  /** One thing at a time, and whatever breaks ends the turn, not the process. */
  async #inTurn(from: LoopState["state"], work: (signal: AbortSignal) => Promise<TurnEnd>): Promise<TurnEnd> {
    if (this.#turn || this.#state.state !== from) return { kind: "failed", error: this.#busy() };
    const turn = new AbortController();
    this.#turn = turn;
    try {
      const end = await work(turn.signal);
      if (end.kind !== "awaiting_results") await this.#enter({ state: "idle" });
      return end;
    } catch (error) {
      await this.#enter({ state: "idle" });
      await this.#findOpenBatch();
      return { kind: "failed", error: brokenBy(error) };
    } finally {
      this.#turn = undefined;
      await this.#channel.settled();
    }
  }

  #busy(): Failure {
    const doing: Record<LoopState["state"], string> = {
      idle: "Nothing waits for that.",
      streaming: "The model is answering.",
      awaiting_results: "Tool calls wait for their results: /tool <id> <result>.",
      awaiting_approval: "Tool calls wait for your approval.",
      executing: "Tools are running.",
      recovery: "An interrupted batch has to be resumed or discarded first.",
    };
    const message = doing[this.#state.state];
    if (this.#state.state !== "recovery") return failure("E3958", { message });
    const advice = "Open it in a terminal and choose, or say it with --recover resume or --recover discard.";
    return failure("E3958", { message, advice });
  }

  /** Model and tools in turn until the model has nothing more to ask for. */
  async #converse(signal: AbortSignal, firstIteration: number): Promise<TurnEnd> {
    const { settings } = this.#parts;
    const last = settings.limits.maxToolIterationsPerUserTurn + STUBBORN_ANSWERS;
    for (let iteration = firstIteration; ; iteration += 1) {
      const batchId = this.#parts.ids.next();
      const answer = await this.#ask(batchId, { signal, iteration });
      const end = this.#endOf(answer, signal);
      if (end) {
        await this.#close(batchId, answer.turns);
        return end;
      }
      const calls = await this.#seal(batchId, answer);
      if (settings.mode === "parse_only") return await this.#waitForResults(calls);
      const results = await this.#run(batchId, calls, { signal, iteration });
      await this.#closeBatch({ batchId, calls }, results);
      if (signal.aborted) return { kind: "cancelled" };
      if (iteration >= last) return await this.#giveUp(answer);
    }
  }

  /** How a turn ends with this answer; undefined when tools are to be called. */
  #endOf({ error, calls, text }: ModelAnswer, signal: AbortSignal): TurnEnd | undefined {
    if (signal.aborted) return { kind: "cancelled" };
    if (error) return { kind: "failed", error };
    return calls.length === 0 ? { kind: "done", text } : undefined;
  }

  async #giveUp({ text }: ModelAnswer): Promise<TurnEnd> {
    const why = "The model kept asking for tools beyond the limit; the turn was ended.";
    await this.#channel.tell({ kind: "notice", level: "warning", text: why });
    return { kind: "done", text };
  }

  async #ask(
    batchId: string,
    { signal, iteration }: { signal: AbortSignal; iteration: number },
  ): Promise<ModelAnswer> {
    const { conversations, settings, clock, model } = this.#parts;
    const { journal } = conversations;
    await this.#enter({ state: "streaming" });
    const turns = this.#history;
    const opened = await journal.open({ batchId, conversationId: this.id, model, at: clock.now() });
    if (!opened) throw new SallyportError(this.#busy());
    const answer = new AnswerInTheMaking({
      record: (entry) => journal.record(batchId, entry),
      tell: (part) => this.#channel.tell(part),
      now: () => clock.now(),
    });
    const { tools: registered, manual = [] } = this.#parts;
    const tools = definitionsOf(offeredTools({ mode: settings.mode, registered, manual }));
    const mayCall = iteration <= settings.limits.maxToolIterationsPerUserTurn + 1;
    const parts = this.#parts.startModel({
      prompt: promptOf(turns, settings.system),
      abortSignal: signal,
      ...(tools.length > 0 && { tools, toolChoice: { type: mayCall ? "auto" : "none" } }),
    });
    await listenTo(parts, answer, signal);
    const result = answer.result();
    this.#usedTokens = result.usedTokens ?? estimateTokens([...turns, ...result.turns], settings.system);
    return result;
  }

  /** Text and calls join the history, each call with the engine's id for it (FR-RES-01). */
  async #seal(batchId: string, { turns, calls }: ModelAnswer): Promise<SealedCall[]> {
    const { conversations, clock, ids } = this.#parts;
    const at = clock.now();
    const sealed = calls.map(({ meta: _meta, ...call }) => ({ ...call, callId: ids.next() }));
    const uses = calls.map((call) => useOf(call, at));
    const answered = [...turns, ...uses];
    if (await conversations.journal.seal(batchId, { turns: answered, calls: sealed }))
      this.#history.push(...answered);
    return sealed;
  }

  async #run(
    batchId: string,
    calls: readonly SealedCall[],
    { signal, iteration }: { signal: AbortSignal; iteration: number },
  ): Promise<BatchResult[]> {
    await this.#enter({ state: "executing" });
    const { settings } = this.#parts;
    return await new BatchRun(calls, {
      ...this.#parts,
      conversationId: this.id,
      batchId,
      iteration,
      capacityBytes: capacityBytes(settings.window, this.#usedTokens),
      signal,
      tell: (event) => this.#tell(event),
    }).run();
  }

  /** Results follow their calls in call order, whatever order they came in (FR-RES-01a). */
  async #closeBatch(
    { batchId, calls }: { batchId: string; calls: readonly { id: string; name: string }[] },
    results: readonly BatchResult[],
  ): Promise<void> {
    const missing = { isError: true, content: MESSAGES.missingResult, at: this.#parts.clock.now() };
    const turns = calls.map(
      ({ id, name }, position): Turn => ({
        kind: "tool_result",
        id,
        name,
        ...(results[position] ?? missing),
      }),
    );
    await this.#close(batchId, turns);
  }

  async #close(batchId: string, turns: readonly Turn[]): Promise<void> {
    if (await this.#parts.conversations.journal.close(batchId, [...turns])) this.#history.push(...turns);
  }

  async #waitForResults(calls: readonly SealedCall[]): Promise<TurnEnd> {
    const waiting = calls.map(({ id, name, arguments: given }) => ({ id, name, arguments: given }));
    await this.#enter({ state: "awaiting_results", calls: waiting });
    return { kind: "awaiting_results" };
  }

  /** Mode parse_only: the person does not want to supply the results. */
  #giveUpWaiting(): Promise<TurnEnd> {
    return this.#inTurn("awaiting_results", async () => {
      const batch = await this.#parts.conversations.journal.openOf(this.id);
      const cancelled = { isError: true, content: MESSAGES.cancelled, at: this.#parts.clock.now() };
      if (batch)
        await this.#closeBatch(
          batch,
          batch.calls.map(({ result }) => result ?? cancelled),
        );
      return { kind: "cancelled" };
    });
  }

  async #afterManualResult(signal: AbortSignal): Promise<TurnEnd> {
    const batch = await this.#parts.conversations.journal.openOf(this.id);
    if (!batch) return { kind: "done", text: "" };
    const waiting = batch.calls.filter(({ result }) => !result);
    if (waiting.length > 0) {
      await this.#enter({ state: "awaiting_results", calls: waiting });
      return { kind: "awaiting_results" };
    }
    await this.#closeBatch(
      batch,
      batch.calls.flatMap(({ result }) => result ?? []),
    );
    return await this.#converse(signal, 1);
  }

  /** A batch that is open while nobody works on it was interrupted, or waits for the person's results. */
  async #findOpenBatch(): Promise<void> {
    const { conversations, settings } = this.#parts;
    const batch = await conversations.journal.openOf(this.id);
    if (!batch) return;
    if (batch.calls.length === 0) {
      const turn: Turn = { kind: "assistant", text: batch.text, at: batch.openedAt };
      return await this.#close(batch.batchId, batch.text === "" ? [] : [turn]);
    }
    if (batch.phase === "sealed" && settings.mode === "parse_only") {
      const calls = batch.calls.filter(({ result }) => !result);
      return await this.#enter({ state: "awaiting_results", calls });
    }
    await this.#enter({ state: "recovery", batch: await knownResults(batch, this.#parts) });
  }

  async #tell(event: LoopEvent): Promise<void> {
    if (event.kind === "state") await this.#enter(event.state);
    else await this.#channel.tell(event);
  }

  async #enter(state: LoopState): Promise<void> {
    this.#state = state;
    await this.#channel.tell({ kind: "state", state });
  }
}

/** A provider that does not stop when it is told to is no longer listened to. */
async function listenTo(
  parts: AsyncIterable<AnswerPart>,
  answer: AnswerInTheMaking,
  signal: AbortSignal,
): Promise<void> {
  try {
    for await (const part of whileWanted(parts, signal)) await answer.take(part);
  } catch (error) {
    if (!signal.aborted) answer.fail(brokenBy(error));
  }
}

function useOf({ index: _index, ...call }: AskedCall, at: number): ToolUseTurn {
  return { kind: "tool_use", ...call, at };
}

function titleOf(text: string): string {
  const line = text.trim().split("\n", 1)[0] ?? "";
  return line.length > TITLE_CHARS ? `${line.slice(0, TITLE_CHARS - 1)}…` : line;
}

function unknownCall(id: string, { calls }: OpenBatch): Failure {
  const waiting = calls.filter(({ result }) => !result).map((call) => call.id);
  return failure("E3917", {
    message: `No call ${id} waits for a result.`,
    advice: `Those that wait: ${waiting.join(", ")}.`,
  });
}

function brokenBy(error: unknown): Failure {
  if (error instanceof SallyportError) return error.failure;
  const why = error instanceof Error ? error.message : String(error);
  return failure("E3959", { message: `The turn broke off: ${why}` });
}
