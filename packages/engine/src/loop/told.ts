import type { CallAnswer } from "@sallyport/protocol";
import type { LoopTool } from "./loop-tool.ts";
import { type ResultText, resultText } from "./result-text.ts";

/** What the model is told of a call to this tool, in the tool's own form where it has one. */
export function toldOf(answer: CallAnswer, tool: Pick<LoopTool, "name" | "textOf">): ResultText {
  if (answer.status !== "success" || !tool.textOf) return resultText(answer, tool.name);
  try {
    return { isError: false, whole: false, content: tool.textOf(answer.result) };
  } catch {
    // It has run: the model is told what came of it, if not as nicely.
    return resultText(answer, tool.name);
  }
}
