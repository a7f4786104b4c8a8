import { type Failure, failure, isFailure, SallyportError } from "@sallyport/protocol";
import type { BatchResult, JournaledCall, OpenBatch, Turn } from "../ports/conversations.ts";
import type { LoopParts } from "./around.ts";
import { askModel, brokenBy, givenBeside, wordsOf } from "./ask-model.ts";
import { BatchRun, type SealedCall } from "./batch-run.ts";
import { takeByHand } from "./by-hand.ts";
import { ContextUse } from "./context-use.ts";
import { describeCall } from "./describe-call.ts";
import { EventChannel } from "./event-channel.ts";
import { stateFound } from "./found-batch.ts";
import { KeptHistory } from "./kept-history.ts";
import type { ConversationDoor, LoopEvent, LoopState, TurnEnd } from "./loop-events.ts";
import { type LoopSettings, MESSAGES } from "./loop-settings.ts";
import type { ModelAnswer } from "./model-answer.ts";
import { notNow, unknownCall } from "./not-now.ts";
import { recoveredEvents, resultsAfterCrash } from "./recovery.ts";
import { orAborted } from "./while-wanted.ts";

/** Answers with tool calls after the limit of iterations before the turn is ended, so that no model goes on for ever. */
const STUBBORN_ANSWERS = 3;
/** How long a listener may take to hear the last of a turn. */
const LAST_WORDS_MS = 2_000;

const NOBODY_WAITS = AbortSignal.abort();

/** A turn as it began: what is changed meanwhile counts from the next one on. */
interface Under {
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
  readonly #history: KeptHistory;
  readonly #channel = new EventChannel();
  #state: LoopState = { state: "idle" };
  #turn: AbortController | undefined;
  /** The store failed in the middle of something: before anything else it is looked at what there is. */
  #isUnsure = false;
  readonly #context = new ContextUse();
  #iteration = 1;

  private constructor(history: KeptHistory, parts: LoopParts) {
    this.#history = history;
    this.#parts = parts;
  }

  /** Begins a new conversation; it is kept from the first thing said on. */
  static begin(parts: LoopParts, { cwd }: { cwd: string }): Conversation {
    return new Conversation(KeptHistory.begin(parts, { cwd }), parts);
  }

  /** Goes on with an earlier one; E3917 when there is none of that id. What a crash left open is found here. */
  static async reopen(
    conversationId: string,
    parts: LoopParts,
    place: { cwd?: string } = {},
  ): Promise<Conversation | Failure> {
    const history = await KeptHistory.reopen(conversationId, parts, place);
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
      await this.#inTurn(["idle"], async (under) => {
        await this.#history.say(text);
        this.#beginTurn();
        return await this.#converse(under);
      }),
    );
  }

  async submit(id: string, result: { content: string; isError: boolean }): Promise<TurnEnd | Failure> {
    return await this.#inTurn(["awaiting_results"], async (under) => {
      const batch = await this.#history.openOne();
      const call = batch?.calls.find((one) => one.id === id && !one.result);
      if (!batch || !call) return unknownCall(id, batch?.calls ?? []);
      const capacityBytes = this.#context.capacityBytes(under.settings.window);
      await takeByHand(call, { batch, given: result, capacityBytes }, this.#parts);
      return await this.#goOnByHand(under);
    });
  }

  async recover(choice: "resume" | "discard"): Promise<TurnEnd> {
    return asEnd(
      await this.#inTurn(["recovery", "awaiting_results"], async (under) => {
        const batch = await this.#history.openOne();
        if (!batch) return { kind: "done", text: "" };
        await this.#closeInterrupted(batch, choice, under);
        this.#beginTurn();
        return under.settings.mode === "enabled" ? await this.#converse(under) : { kind: "done", text: "" };
      }),
    );
  }

  async #closeInterrupted(batch: OpenBatch, choice: "resume" | "discard", under: Under): Promise<void> {
    const sealed = await this.#history.sealInterrupted(batch);
    const beside = givenBeside({ ...this.#parts, settings: under.settings });
    const capacity = this.#context.capacityAfter(this.#history.turns, beside);
    const outcomes = await resultsAfterCrash(sealed, { choice, capacity }, this.#parts);
    await this.#history.closeWith(
      sealed,
      outcomes.map(({ result }) => result),
    );
    for (const event of await recoveredEvents(sealed.calls, outcomes, this.#parts)) {
      await this.#tell(event, under.signal);
    }
  }

  /** One thing at a time, and whatever breaks ends the turn, not the process. A failure leaves everything as it is. */
  async #inTurn(
    from: readonly LoopState["state"][],
    work: (under: Under) => Promise<TurnEnd | Failure>,
  ): Promise<TurnEnd | Failure> {
    if (this.#turn) return notNow(this.#state);
    const turn = new AbortController();
    this.#turn = turn;
    try {
      if (this.#isUnsure) await this.#look();
      if (!from.includes(this.#state.state)) return notNow(this.#state);
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
      if (heard) await orAborted(heard, AbortSignal.timeout(LAST_WORDS_MS));
    }
  }

  /** Model and tools in turn until the model has nothing more to ask for. */
  async #converse(under: Under): Promise<TurnEnd> {
    const { settings, signal } = under;
    const last = settings.limits.maxToolIterationsPerUserTurn + STUBBORN_ANSWERS;
    for (; ; this.#iteration += 1) {
      const batchId = this.#parts.ids.next();
      const answer = await this.#ask(batchId, under);
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
      await this.#history.closeWith({ batchId, calls }, await this.#run(batchId, calls, under));
      if (signal.aborted) return { kind: "cancelled" };
      if (this.#iteration >= last) return await this.#leaveStubborn(answer, under);
    }
  }

  async #ask(batchId: string, { signal, settings }: Under): Promise<ModelAnswer> {
    await this.#enter({ state: "streaming" });
    if (!(await this.#history.openBatch(batchId))) throw new SallyportError(notNow(this.#state));
    const tell = (event: LoopEvent) => this.#tell(event, signal);
    const asking = { batchId, iteration: this.#iteration, context: this.#context, signal, tell };
    return await askModel(this.#history, asking, { ...this.#parts, settings });
  }

  #beginTurn(): void {
    this.#iteration = 1;
    this.#context.beginTurn();
  }

  async #run(batchId: string, calls: readonly SealedCall[], under: Under): Promise<BatchResult[]> {
    await this.#enter({ state: "executing" });
    const { signal, settings } = under;
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

  async #leaveStubborn({ text }: ModelAnswer, { signal }: Under): Promise<TurnEnd> {
    const why = "The model kept asking for tools beyond the limit; the turn was ended.";
    await this.#tell({ kind: "notice", level: "warning", text: why }, signal);
    return { kind: "done", text };
  }

  async #waitFor(calls: readonly Pick<JournaledCall, "id" | "name" | "arguments">[]): Promise<TurnEnd> {
    const waiting = calls.map(({ id, name, arguments: given }) => ({ id, name, arguments: given }));
    await this.#enter({ state: "awaiting_results", calls: waiting });
    return { kind: "awaiting_results" };
  }

  async #goOnByHand(under: Under): Promise<TurnEnd> {
    const batch = await this.#history.openOne();
    const waiting = batch?.calls.filter(({ result }) => !result) ?? [];
    if (waiting.length > 0) return await this.#waitFor(waiting);
    if (batch) await this.#history.closeWithKnown(batch);
    return await this.#converse(under);
  }

  /** Mode parse_only: the person does not want to supply the results. */
  #giveUpWaiting(): Promise<TurnEnd | Failure> {
    return this.#inTurn(["awaiting_results"], async () => {
      const batch = await this.#history.openOne();
      const cancelled = { isError: true, content: MESSAGES.cancelled, at: this.#parts.clock.now() };
      if (batch) await this.#history.closeWithKnown(batch, cancelled);
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
    await orAborted(this.#channel.tell(event), signal);
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
