import { type Failure, failure } from "@sallyport/protocol";
import type { JournaledCall } from "../ports/conversations.ts";
import type { LoopState } from "./loop-events.ts";

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
export function notNow({ state }: LoopState): Failure {
  const message = DOING[state];
  return failure("E3958", state === "recovery" ? { message, advice: HOW_TO_RECOVER } : { message });
}

/** A result for a call that waits for none (E3917). */
export function unknownCall(id: string, calls: readonly JournaledCall[]): Failure {
  const waiting = calls.filter(({ result }) => !result).map((call) => call.id);
  return failure("E3917", {
    message: `No call ${id} waits for a result.`,
    advice: waiting.length === 0 ? "None does." : `Those that wait: ${waiting.join(", ")}.`,
  });
}
