import type { CallAnswer } from "@sallyport/protocol";
import { effectsText } from "./effects-text.ts";
import { type Output, visible } from "./io.ts";
import { answerDocument, answerSummary, failureText } from "./render-answer.ts";

/** The result goes to stdout, what is said about it to stderr. */
export function printAnswer(answer: CallAnswer, output: Output): void {
  if (output.json || answer.status === "success") {
    const result = answer.status === "success" ? answer.result : null;
    output.result(answerDocument(answer), () => visible(JSON.stringify(result, null, 2)));
  }
  if (output.json) return;
  if (answer.effects) output.note(effectsText(answer.effects, output, { diff: false }));
  output.note(answerSummary(answer, output));
  if (answer.status !== "success") output.note(failureText(answer.error, output));
}
