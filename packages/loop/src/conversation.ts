import { type Failure, failure, isFailure, SallyportError } from "@sallyport/protocol";
import { BatchRun } from "./batch.ts";
import type { LoopParts, ModelAnswer, SealedCall } from "./context.ts";
import { ContextUse, roomBefore } from "./context-budget.ts";
import type { BatchResult, JournaledCall, OpenBatch, Turn } from "./conversations-port.ts";
import { EventChannel, raceAbort } from "./event-channel.ts";
import type { ConversationDoor, LoopEvent, LoopState, TurnEnd } from "./events.ts";
import { ConversationLog, wordsIn } from "./log.ts";
import { askModel, brokenBy, promptExtras, wordsOf } from "./model-answer.ts";
import { describeCall } from "./planner.ts";
import { interruptedBatch, isKnownToEngine, recoveredCalls, recoveredEvents } from "./recovery.ts";
import { fitResult } from "./results.ts";
import { type LoopSettings, MESSAGES } from "./settings.ts";

const DOING: Readonly<Record<LoopState["state"], string>> = {
  idle: "Nothing waits for that.",
  streaming: "The model is answering.",
  awaiting_results: "Tool calls wait for their results: /tool <id> <result>.",
  awaiting_approval: "Tool calls wait for your approval.",
  executing: "Tools are running.",
  recovery: "An interrupted batch has to be resumed or discarded first.",
};

const HOW_TO_RECOVER =
  "Open it in a terminal and choose, or say it with --recover resume or --recover discard.";

/** Why a conversation cannot do what is asked of it as it stands (E3958). */
function wrongState({ state }: LoopState): Failure {
  const message = DOING[state];
  return failure("E3958", state === "recovery" ? { message, advice: HOW_TO_RECOVER } : { message });
}

/** A result for a call that waits for none (E3917). */
function unknownCall(id: string, calls: readonly JournaledCall[]): Failure {
  const waiting = calls.filter(({ result }) => !result).map((call) => call.id);
  return failure("E3917", {
    message: `No call ${id} waits for a result.`,
    advice: waiting.length === 0 ? "None does." : `Those that wait: ${waiting.join(", ")}.`,
  });
}

/** What one more result may take beside those that were given before, without what those that are still to come need. */
function roomIn({ calls }: OpenBatch, capacityBytes: number): number {
  const given = calls.flatMap(({ result }) => result ?? []);
  const taken = given.reduce((bytes, { content }) => bytes + Buffer.byteLength(content), 0);
  return roomBefore(calls.length - given.length - 1, Math.max(0, capacityBytes - taken));
}

/** Answers with tool calls after the limit of iterations before the turn is ended, so that no model goes on for ever. */
const STUBBORN_ANSWERS = 3;
/** How long a listener may take to hear the last of a turn. */
const LAST_WORDS_MS = 2_000;

const NOBODY_WAITS = AbortSignal.abort();

/** A turn as it began: what is changed meanwhile counts from the next one on. */
interface TurnContext {
  signal: AbortSignal;
  settings: LoopSettings;
}

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
  readonly #parts: LoopParts;
  readonly #history: ConversationLog;
  readonly #channel = new EventChannel();
  #state: LoopState = { state: "idle" };
  #turn: AbortController | undefined;
  /** The store failed in the middle of something: before anything else it is looked at what there is. */
  #isUnsure = false;
  readonly #context = new ContextUse();
  #iteration = 1;

  private constructor(history: ConversationLog, parts: LoopParts) {
    this.#history = history;
    this.#parts = parts;
  }

  /** Begins a new conversation; it is kept from the first thing said on. */
  static begin(parts: LoopParts, { cwd }: { cwd: string }): Conversation {
    return new Conversation(ConversationLog.begin(parts, { cwd }), parts);
  }

  /** Goes on with an earlier one; E3917 when there is none of that id. What a crash left open is found here. */
  static async reopen(
    conversationId: string,
    parts: LoopParts,
    place: { cwd?: string } = {},
  ): Promise<Conversation | Failure> {
    const history = await ConversationLog.reopen(conversationId, parts, place);
    if (!history) return failure("E3917", { message: `There is no conversation ${conversationId}.` });
    const conversation = new Conversation(history, parts);
    await conversation.#look();
    return conversation;
  }

  get id(): string {
    return this.#history.id;
  }

  get state(): LoopState {
    return this.#state;
  }

  /** Tokens the conversation took when the model last said so, or an estimate; undefined before the first answer. */
  get usedTokens(): number | undefined {
    return this.#context.usedTokens;
  }

  /** The history so far. */
  get turns(): readonly Turn[] {
    return this.#history.turns;
  }

  /** The line that a plan would have about a call of the history. Never rejects. */
  async describe(call: { name: string; arguments: string }): Promise<string> {
    return (await describeCall(call, this.#parts)).summary;
  }

  listen(listener: (event: LoopEvent) => void | Promise<void>): () => void {
    return this.#channel.listen(listener);
  }

  /** Tells whoever listens something beside the conversation. */
  notice(text: string): void {
    void this.#channel.tell({ kind: "notice", level: "info", text });
  }

  cancel(): void {
    if (this.#turn) this.#turn.abort(MESSAGES.cancelled);
    else if (this.#state.state === "awaiting_results") void this.#giveUpWaiting();
  }

  async send(text: string): Promise<TurnEnd> {
    return asEnd(
      await this.#inTurn(["idle"], async (turnContext) => {
        await this.#history.say(text);
        this.#beginTurn();
        return await this.#converse(turnContext);
      }),
    );
  }

  async submit(id: string, result: { content: string; isError: boolean }): Promise<TurnEnd | Failure> {
    return await this.#inTurn(["awaiting_results"], async (turnContext) => {
      const batch = await this.#history.openOne();
      const call = batch?.calls.find((one) => one.id === id && !one.result);
      if (!batch || !call) return unknownCall(id, batch?.calls ?? []);
      await this.#takeByHand({ batch, call }, result, turnContext);
      return await this.#goOnByHand(turnContext);
    });
  }

  /** Keeps a person's result of a call, as long as the model has room for it beside the others. */
  async #takeByHand(
    { batch, call }: { batch: OpenBatch; call: JournaledCall },
    { content, isError }: { content: string; isError: boolean },
    { settings }: TurnContext,
  ): Promise<void> {
    const { conversations, clock, spill } = this.#parts;
    const room = roomIn(batch, this.#context.capacityBytes(settings.window));
    const maxBytes = Math.min(settings.limits.maxOutputBytes, room);
    const where = { conversationId: this.id, spill, callId: call.callId };
    const fitted = await fitResult({ isError, whole: false, content }, maxBytes, where);
    const result: BatchResult = { isError, content: fitted, at: clock.now() };
    await conversations.journal.result(batch.batchId, call.index, result);
  }

  async recover(choice: "resume" | "discard"): Promise<TurnEnd> {
    return asEnd(
      await this.#inTurn(["recovery", "awaiting_results"], async (turnContext) => {
        const batch = await this.#history.openOne();
        if (!batch) return { kind: "done", text: "" };
        await this.#closeInterrupted(batch, choice, turnContext);
        this.#beginTurn();
        return turnContext.settings.mode === "enabled"
          ? await this.#converse(turnContext)
          : { kind: "done", text: "" };
      }),
    );
  }

  async #closeInterrupted(
    batch: OpenBatch,
    choice: "resume" | "discard",
    turnContext: TurnContext,
  ): Promise<void> {
    const sealed = await this.#history.sealInterrupted(batch);
    const extras = promptExtras({ ...this.#parts, settings: turnContext.settings });
    const capacity = this.#context.capacityAfter(this.#history.turns, extras);
    const calls = await recoveredCalls(sealed, { choice, capacity }, this.#parts);
    await this.#history.closeWith(batch.batchId, calls);
    for (const event of await recoveredEvents(calls, this.#parts)) {
      await this.#tell(event, turnContext.signal);
    }
  }

  /** One thing at a time, and whatever breaks ends the turn, not the process. A failure leaves everything as it is. */
  async #inTurn(
    from: readonly LoopState["state"][],
    work: (turnContext: TurnContext) => Promise<TurnEnd | Failure>,
  ): Promise<TurnEnd | Failure> {
    if (this.#turn) return wrongState(this.#state);
    const turn = new AbortController();
    this.#turn = turn;
    try {
      if (this.#isUnsure) await this.#look();
      if (!from.includes(this.#state.state)) return wrongState(this.#state);
      const end = await work({ signal: turn.signal, settings: { ...this.#parts.settings } });
      if (!isFailure(end) && end.kind !== "awaiting_results") await this.#enter({ state: "idle" });
      return end;
    } catch (error) {
      this.#isUnsure = true;
      await this.#enter({ state: "idle" });
      // Whatever is wrong with the store may be so still; then it is looked at before the next turn.
      await this.#look().catch(() => undefined);
      return { kind: "failed", error: brokenBy(error) };
    } finally {
      this.#turn = undefined;
      const heard = this.#channel.settled();
      if (heard) await raceAbort(heard, AbortSignal.timeout(LAST_WORDS_MS));
    }
  }

  /** Model and tools in turn until the model has nothing more to ask for. */
  async #converse(turnContext: TurnContext): Promise<TurnEnd> {
    const { settings, signal } = turnContext;
    const last = settings.limits.maxToolIterationsPerUserTurn + STUBBORN_ANSWERS;
    for (; ; this.#iteration += 1) {
      const batchId = this.#parts.ids.next();
      const answer = await this.#ask(batchId, turnContext);
      const end = endOf(answer, signal);
      if (end) {
        await this.#history.close(batchId, end.kind === "done" ? answer.turns : wordsOf(answer.turns));
        return end;
      }
      const calls = await this.#history.seal(batchId, answer);
      if (settings.mode === "parse_only") {
        this.#iteration += 1;
        return await this.#waitFor(calls);
      }
      await this.#history.closeWith(batchId, await this.#run(batchId, calls, turnContext));
      if (signal.aborted) return { kind: "cancelled" };
      if (this.#iteration < last) continue;
      const why = "The model kept asking for tools beyond the limit; the turn was ended.";
      await this.#tell({ kind: "notice", level: "warning", text: why }, signal);
      return { kind: "done", text: answer.text };
    }
  }

  async #ask(batchId: string, { signal, settings }: TurnContext): Promise<ModelAnswer> {
    await this.#enter({ state: "streaming" });
    if (!(await this.#history.openBatch(batchId))) throw new SallyportError(wrongState(this.#state));
    const tell = (event: LoopEvent) => this.#tell(event, signal);
    const asking = { batchId, iteration: this.#iteration, context: this.#context, signal, tell };
    return await askModel(this.#history, asking, { ...this.#parts, settings });
  }

  #beginTurn(): void {
    this.#iteration = 1;
    this.#context.beginTurn();
  }

  async #run(batchId: string, calls: readonly SealedCall[], { signal, settings }: TurnContext) {
    await this.#enter({ state: "executing" });
    return await new BatchRun(calls, {
      ...this.#parts,
      settings,
      conversationId: this.id,
      batchId,
      iteration: this.#iteration,
      capacityBytes: this.#context.capacityBytes(settings.window),
      signal,
      tell: (event) => this.#tell(event, signal),
    }).run();
  }

  async #waitFor(calls: readonly Pick<JournaledCall, "id" | "name" | "arguments">[]): Promise<TurnEnd> {
    const waiting = calls.map(({ id, name, arguments: given }) => ({ id, name, arguments: given }));
    await this.#enter({ state: "awaiting_results", calls: waiting });
    return { kind: "awaiting_results" };
  }

  async #goOnByHand(turnContext: TurnContext): Promise<TurnEnd> {
    const batch = await this.#history.openOne();
    const waiting = batch?.calls.filter(({ result }) => !result) ?? [];
    if (waiting.length > 0) return await this.#waitFor(waiting);
    if (batch) await this.#history.closeWith(batch.batchId, batch.calls);
    return await this.#converse(turnContext);
  }

  /** Mode parse_only: the person does not want to supply the results. */
  #giveUpWaiting(): Promise<TurnEnd | Failure> {
    return this.#inTurn(["awaiting_results"], async () => {
      const batch = await this.#history.openOne();
      if (batch) await this.#history.closeWith(batch.batchId, batch.calls, MESSAGES.cancelled);
      return { kind: "cancelled" };
    });
  }

  /** Finds out how things stand on disk. A batch that is open while nobody works on it was interrupted. */
  async #look(): Promise<void> {
    await this.#history.reread();
    const batch = await this.#history.openOne();
    await this.#enter(batch ? await stateFound(batch, this.#history, this.#parts) : { state: "idle" });
    this.#isUnsure = false;
  }

  /** Who listens too slowly holds the loop up, but not its end. */
  async #tell(event: LoopEvent, signal: AbortSignal): Promise<void> {
    if (event.kind === "state") this.#state = event.state;
    await raceAbort(this.#channel.tell(event), signal);
  }

  async #enter(state: LoopState): Promise<void> {
    await this.#tell({ kind: "state", state }, this.#turn?.signal ?? NOBODY_WAITS);
  }
}

/** How a turn ends with this answer; undefined when tools are to be called. */
function endOf({ error, calls, text }: ModelAnswer, signal: AbortSignal): TurnEnd | undefined {
  if (signal.aborted) return { kind: "cancelled" };
  if (error) return { kind: "failed", error };
  return calls.length === 0 ? { kind: "done", text } : undefined;
}

function asEnd(end: TurnEnd | Failure): TurnEnd {
  return isFailure(end) ? { kind: "failed", error: end } : end;
}

/**
 * How a conversation stands in which a batch is open while nobody works on it: it was interrupted, or waits for results
 * by hand. What needs nobody's decision is closed: words without calls, and calls that all have their results by hand.
 */
async function stateFound(batch: OpenBatch, history: ConversationLog, parts: LoopParts): Promise<LoopState> {
  const { batchId, calls } = batch;
  if (calls.length === 0) {
    await history.close(batchId, wordsIn(batch));
    return { state: "idle" };
  }
  if (!(await isByHand(batch, parts))) {
    return { state: "recovery", batch: await interruptedBatch(batch, parts) };
  }
  const waiting = calls.filter(({ result }) => !result);
  if (waiting.length > 0) return { state: "awaiting_results", calls: waiting };
  await history.closeWith(batchId, calls);
  return { state: "idle" };
}

/** Calls that were to run are never answered by hand, whatever the mode is now. */
async function isByHand(batch: OpenBatch, { settings, engine }: LoopParts): Promise<boolean> {
  if (batch.phase !== "sealed" || settings.mode !== "parse_only") return false;
  return !(await isKnownToEngine(batch, engine));
}
