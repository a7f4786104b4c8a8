import { type Failure, failure, nearestNames, SallyportError } from "@sallyport/protocol";
import { visible } from "../redact/visible.ts";
import { denialReason } from "./loop-policy.ts";
import { MESSAGES } from "./loop-settings.ts";

const LONGEST_NAME = 64;

/** Why calls are answered without running. Names in the messages are the model's words, so they are bounded. */
export const refusals = {
  duplicateId: (id: string): Failure =>
    failure("E3950", { message: `Duplicate tool call id: ${short(id)}`, details: { id: short(id) } }),

  tooManyCalls: (count: number, limit: number): Failure =>
    failure("E3957", {
      message: `${count} tool calls in one batch; max_tool_calls_per_batch is ${limit}`,
      advice: `Make at most ${limit} calls at a time; the first ${limit} of these are being dealt with.`,
      details: { limit, count },
    }),

  /** The same of those after the first: what to do about it is said once. */
  alsoTooMany: (limit: number): Failure =>
    failure("E3957", {
      message: `Not run: max_tool_calls_per_batch is ${limit}`,
      advice: "",
      details: { limit },
    }),

  modeDisabled: (): Failure => failure("E3954", { message: MESSAGES.disabled }),

  maxIterations: (limit: number): Failure =>
    failure("E3957", {
      message: MESSAGES.maxIterations,
      advice: "Answer with what is known; the person's next message allows further calls.",
      details: { limit },
    }),

  argumentsTooLarge: (bytes: number, limit: number): Failure =>
    failure("E3957", {
      message: `Arguments are ${bytes} bytes; max_tool_args_bytes is ${limit}`,
      details: { limit, bytes },
    }),

  byPolicy: (kind: "disabled" | "denylisted" | "not_allowlisted", name: string): Failure =>
    failure(kind === "disabled" ? "E3954" : "E3953", { message: denialReason(kind, short(name)) }),

  unknownTool(name: string, known: Iterable<string>): Failure {
    const nearest = nearestNames(name, known);
    const hint =
      nearest.length === 0 ? "" : `. Did you mean ${nearest.map((one) => `"${one}"`).join(" or ")}?`;
    return failure("E3001", {
      message: `Unknown tool: ${short(name)}${hint}`,
      advice: "Call one of the tools that were offered, by its exact name.",
      details: { nearest },
    });
  },

  /** Planning itself went wrong; the call is answered all the same, and never runs. */
  threw(thrown: unknown): Failure {
    if (thrown instanceof SallyportError) return thrown.failure;
    const why = thrown instanceof Error ? thrown.message : String(thrown);
    return failure("E3900", { message: `The call could not be planned: ${visible(why.slice(0, 500))}` });
  },
} as const;

function short(text: string): string {
  const shown = visible(text.slice(0, LONGEST_NAME));
  return text.length > LONGEST_NAME ? `${shown}...` : shown;
}
