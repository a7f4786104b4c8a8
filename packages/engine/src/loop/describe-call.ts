import type { Risk } from "@sallyport/protocol";
import type { LoopParts } from "./around.ts";
import { targetOf } from "./call-order.ts";
import { type AskedFor, namedSummary, shortSummary } from "./planned-call.ts";
import { readArguments } from "./read-arguments.ts";

/** What is said of a call before it runs. */
export interface Described {
  summary: string;
  risk: Risk;
}

/**
 * The line about a call that its plan has, for calls that are not planned (any more). Its name where the tool is gone or
 * would not take the call. Nothing runs and nothing is recorded; never rejects.
 */
export async function describeCall(
  { name, arguments: given }: Pick<AskedFor, "name" | "arguments">,
  { tools, engine, caller }: Pick<LoopParts, "tools" | "engine" | "caller">,
): Promise<Described> {
  const tool = tools.find((one) => one.name === name);
  const unknown: Described = { summary: namedSummary(name), risk: tool?.sideEffects ? "medium" : "low" };
  const read = readArguments(given);
  if (!tool || "error" in read) return unknown;
  try {
    const plan = await engine.plan({ ...targetOf(tool), input: read.input, caller });
    return plan.kind === "refused" ? unknown : { summary: shortSummary(plan.summary), risk: plan.risk };
  } catch {
    return unknown;
  }
}
