import { type Failure, failure, SallyportError } from "@sallyport/protocol";
import type { Turn } from "../ports/conversations.ts";
import { definitionsOf, offeredTools } from "./advertise.ts";
import type { LoopParts } from "./around.ts";
import type { ContextUse } from "./context-use.ts";
import type { KeptHistory } from "./kept-history.ts";
import type { LoopEvent } from "./loop-events.ts";
import { AnswerInTheMaking, type AnswerPart, type ModelAnswer } from "./model-answer.ts";
import { promptOf } from "./provider-prompt.ts";
import { whileWanted } from "./while-wanted.ts";

export interface Asking {
  batchId: string;
  iteration: number;
  /** Says what of the history fits, and learns from the answer. */
  context: ContextUse;
  signal: AbortSignal;
  tell(event: LoopEvent): void | Promise<void>;
}

/** What the model is given besides the history. */
export function givenBeside({ settings, tools, manual = [] }: LoopParts) {
  const { system, window, mode } = settings;
  return { system, window, tools: definitionsOf(offeredTools({ mode, registered: tools, manual })) };
}

/**
 * Has the model answer the history, or what of it fits, each piece going to the journal as it comes. Its trouble is in
 * the answer.
 */
export async function askModel(
  history: KeptHistory,
  { batchId, iteration, context, signal, tell }: Asking,
  parts: LoopParts,
): Promise<ModelAnswer> {
  const { settings, clock, startModel } = parts;
  const beside = givenBeside(parts);
  const { system, tools } = beside;
  const { turns, notice } = context.fit(history.turns, beside);
  if (notice !== undefined) await tell({ kind: "notice", level: "warning", text: notice });
  const making = new AnswerInTheMaking({
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
  await listenTo(spoken, making, signal);
  const answer = making.result();
  context.heard(turns, beside, answer);
  return answer;
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
