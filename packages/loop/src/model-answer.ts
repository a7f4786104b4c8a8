import type { LanguageModelV4, LanguageModelV4StreamPart } from "@ai-sdk/provider";
import { type Failure, failure, type JsonValue, SallyportError } from "@sallyport/protocol";
import type { AnswerPart, AskedCall, LoopParts, ModelAnswer, StartModel } from "./context.ts";
import { type ContextUse, extraTokens } from "./context-budget.ts";
import type { StreamEntry, Turn } from "./conversations-port.ts";
import { raceAbort } from "./event-channel.ts";
import type { LoopEvent } from "./events.ts";
import type { ConversationLog } from "./log.ts";
import { promptOf } from "./prompt.ts";
import { definitionsOf, offeredTools } from "./tools.ts";

interface Asking {
  batchId: string;
  iteration: number;
  /** Says what of the history fits, and learns from the answer. */
  context: ContextUse;
  signal: AbortSignal;
  tell(event: LoopEvent): void | Promise<void>;
}

/** What the model is given besides the history. */
export function promptExtras({ settings, tools, manual = [] }: LoopParts) {
  const { system, window, mode } = settings;
  const offered = definitionsOf(offeredTools({ mode, registered: tools, manual }));
  return { system, window, tools: offered, tokens: extraTokens(offered, system) };
}

/**
 * Has the model answer the history, or what of it fits, each piece going to the journal as it comes. Its trouble is in
 * the answer.
 */
export async function askModel(
  history: ConversationLog,
  { batchId, iteration, context, signal, tell }: Asking,
  parts: LoopParts,
): Promise<ModelAnswer> {
  const { settings, clock, startModel } = parts;
  const extras = promptExtras(parts);
  const { system, tools } = extras;
  const { turns, notice } = context.fit(history.turns, extras);
  if (notice !== undefined) await tell({ kind: "notice", level: "warning", text: notice });
  const builder = new AnswerBuilder({
    record: (entry) => history.record(batchId, entry),
    tell,
    now: () => clock.now(),
  });
  const mayCall = iteration <= settings.limits.maxToolIterationsPerUserTurn + 1;
  const spoken = startModel({
    prompt: promptOf(turns, system),
    abortSignal: signal,
    ...(tools.length > 0 && { tools, toolChoice: { type: mayCall ? "auto" : "none" } }),
  });
  await listenTo(spoken, builder, signal);
  const answer = builder.result();
  context.heard(turns, extras, answer);
  return answer;
}

/** A provider that does not stop when it is told to is no longer listened to. */
async function listenTo(
  parts: AsyncIterable<AnswerPart>,
  answer: AnswerBuilder,
  signal: AbortSignal,
): Promise<void> {
  const iterator = parts[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = await raceAbort(iterator.next(), signal);
      if (next === undefined || next.done) return;
      await answer.take(next.value);
    }
  } catch (error) {
    if (!signal.aborted) answer.fail(brokenBy(error));
  } finally {
    // Not awaited: a stream that hangs would hang this too. What it says after it was left concerns nobody.
    iterator.return?.().then(undefined, () => undefined);
  }
}

/** Of an answer that was not finished only its words are kept: the rest means nothing without what was to follow. */
export function wordsOf(turns: readonly Turn[]): Turn[] {
  return turns.flatMap((turn) =>
    turn.kind === "assistant" && turn.text !== "" ? [{ kind: turn.kind, text: turn.text, at: turn.at }] : [],
  );
}

/** What broke a turn, as a failure. */
export function brokenBy(error: unknown): Failure {
  if (error instanceof SallyportError) return error.failure;
  const why = error instanceof Error ? error.message : String(error);
  return failure("E3959", { message: `The turn broke off: ${why}` });
}

/** Asks a model of the AI SDK, without trying again. */
export function askDirectly(model: LanguageModelV4): StartModel {
  return async function* (options) {
    const { stream } = await model.doStream(options);
    yield* stream;
  };
}

interface Watching {
  /** Resolves once it is in the journal: nothing is shown before. */
  record(entry: StreamEntry): Promise<void>;
  tell(event: LoopEvent): void | Promise<void>;
  now(): number;
}

/** A call as it comes in, with what it is called in the stream. */
interface StreamedCall {
  call: AskedCall;
  streamId: string;
  isComplete: boolean;
}

type Block = Extract<Turn, { kind: "assistant" | "reasoning" }>;

/** Collects an answer as it streams in, each piece going to the journal first (FR-RES-04a). */
export class AnswerBuilder {
  readonly #watching: Watching;
  readonly #blocks = new Map<string, Block>();
  readonly #calls: StreamedCall[] = [];
  #usedTokens: number | undefined;
  #error: Failure | undefined;
  #isFinished = false;

  constructor(watching: Watching) {
    this.#watching = watching;
  }

  async take(part: AnswerPart): Promise<void> {
    switch (part.type) {
      case "text-delta":
        return await this.#text("assistant", part);
      case "reasoning-delta":
        // A signature comes with an empty piece.
        this.#note("reasoning", part);
        return await this.#text("reasoning", part);
      case "text-end":
        return this.#note("assistant", part);
      case "reasoning-start":
      case "reasoning-end":
        return this.#note("reasoning", part);
      case "tool-input-start":
        if (!part.providerExecuted) await this.#begin(part, part.toolName);
        return;
      case "tool-input-delta":
        return await this.#arguments(part.id, part.delta);
      case "tool-call":
        return part.providerExecuted ? undefined : await this.#whole(part);
      case "finish":
        this.#isFinished = true;
        this.#usedTokens = tokensOf(part.usage);
        return;
      case "failed":
        return this.fail(part.error);
      case "error":
        return this.fail(failureOf(part.error));
    }
  }

  /** It goes no further; what there is stays. */
  fail(error: Failure): void {
    this.#error ??= error;
  }

  /** Of an answer that broke off nothing may be acted upon: its last call may be half of one. */
  result(): ModelAnswer {
    if (!this.#isFinished) this.fail(failure("E3959", { message: "The answer broke off before its end." }));
    const turns = [...this.#blocks.values()].filter(({ text, meta }) => text !== "" || meta !== undefined);
    const text = turns.flatMap((turn) => (turn.kind === "assistant" ? [turn.text] : [])).join("");
    return {
      turns,
      text,
      calls: this.#calls.map(({ call, isComplete }) => (isComplete ? call : { ...call, isCut: true })),
      ...(this.#usedTokens !== undefined && { usedTokens: this.#usedTokens }),
      ...(this.#error && { error: this.#error }),
    };
  }

  async #text(kind: "assistant" | "reasoning", { id, delta }: { id: string; delta: string }): Promise<void> {
    if (delta === "") return;
    this.#block(kind, id).text += delta;
    if (kind === "assistant") await this.#watching.record({ kind: "text", delta });
    await this.#watching.tell({ kind: kind === "assistant" ? "text" : "reasoning", delta });
  }

  #note(kind: "assistant" | "reasoning", part: { id: string; providerMetadata?: object }): void {
    const meta = plain(part.providerMetadata);
    if (meta !== undefined) this.#block(kind, part.id).meta = meta;
  }

  #block(kind: "assistant" | "reasoning", id: string): Block {
    const key = `${kind} ${id}`;
    const known = this.#blocks.get(key);
    if (known) return known;
    const fresh: Block = { kind, text: "", at: this.#watching.now() };
    this.#blocks.set(key, fresh);
    return fresh;
  }

  async #begin(
    { id: streamId, wireId: id = streamId }: { id: string; wireId?: string },
    name: string,
  ): Promise<StreamedCall> {
    const index = this.#calls.length;
    const begun = { call: { index, id, name, arguments: "" }, streamId, isComplete: false };
    this.#calls.push(begun);
    await this.#watching.record({ kind: "call", index, id, name });
    await this.#watching.tell({ kind: "call", index, id, name });
    return begun;
  }

  async #arguments(id: string, delta: string): Promise<void> {
    const call = this.#calls.findLast(({ streamId }) => streamId === id)?.call;
    if (!call || delta === "") return;
    call.arguments += delta;
    await this.#watching.record({ kind: "arguments", index: call.index, delta });
  }

  /** Some providers stream a call before they give it whole, some do not; an id may come twice. */
  async #whole(part: Extract<AnswerPart, { type: "tool-call" }>): Promise<void> {
    const { toolCallId: id, toolName: name, input } = part;
    const open = this.#calls.find(({ streamId, isComplete }) => streamId === id && !isComplete);
    const streamed = open ?? (await this.#begin({ ...part, id }, name));
    streamed.isComplete = true;
    const { call } = streamed;
    if (call.arguments === "" && input !== "") {
      await this.#watching.record({ kind: "arguments", index: call.index, delta: input });
    }
    call.arguments = input;
    const meta = plain(part.providerMetadata);
    if (meta !== undefined) call.meta = meta;
  }
}

function plain(metadata: object | undefined): JsonValue | undefined {
  if (metadata === undefined) return undefined;
  return JSON.parse(JSON.stringify(metadata));
}

function tokensOf({
  inputTokens,
  outputTokens,
}: Extract<LanguageModelV4StreamPart, { type: "finish" }>["usage"]): number | undefined {
  // Without what the model was given the rest says nothing, and none at all is not true; an estimate says more.
  const given = inputTokens.total ?? 0;
  return given > 0 && Number.isFinite(given) ? given + (outputTokens.total ?? 0) : undefined;
}

function failureOf(error: unknown): Failure {
  const why =
    error instanceof Error ? error.message : typeof error === "string" ? error : "it did not say why";
  return failure("E3959", { message: `The model could not answer: ${why}` });
}
