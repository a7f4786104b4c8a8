import { type Failure, failure, SallyportError } from "@sallyport/protocol";
import type { Turn } from "../ports/conversations.ts";
import { definitionsOf, offeredTools } from "./advertise.ts";
import type { LoopParts } from "./around.ts";
import type { KeptHistory } from "./kept-history.ts";
import type { LoopEvent } from "./loop-events.ts";
import { AnswerInTheMaking, type AnswerPart, type ModelAnswer } from "./model-answer.ts";
import { promptOf } from "./provider-prompt.ts";
import { whileWanted } from "./while-wanted.ts";

export interface Asking {
  batchId: string;
  iteration: number;
  signal: AbortSignal;
  tell(event: LoopEvent): void | Promise<void>;
}

/** Has the model answer the history, each piece going to the journal as it comes. Its trouble is in the answer. */
export async function askModel(
  history: KeptHistory,
  { batchId, iteration, signal, tell }: Asking,
  parts: LoopParts,
): Promise<ModelAnswer> {
  const { settings, clock, tools: registered, manual = [] } = parts;
  const answer = new AnswerInTheMaking({
    record: (entry) => history.record(batchId, entry),
    tell,
    now: () => clock.now(),
  });
  const tools = definitionsOf(offeredTools({ mode: settings.mode, registered, manual }));
  const mayCall = iteration <= settings.limits.maxToolIterationsPerUserTurn + 1;
  const spoken = parts.startModel({
    prompt: promptOf(history.turns, settings.system),
    abortSignal: signal,
    ...(tools.length > 0 && { tools, toolChoice: { type: mayCall ? "auto" : "none" } }),
  });
  await listenTo(spoken, answer, signal);
  return answer.result();
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
