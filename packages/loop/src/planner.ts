import type { CallPlan } from "@sallyport/engine";
import { visible } from "@sallyport/engine/host";
import {
  type Failure,
  failure,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  nearestNames,
  type Risk,
  SallyportError,
} from "@sallyport/protocol";
import type { LoopParts } from "./context.ts";
import { targetOf } from "./context.ts";
import { denialReason, loopVerdict, outrightDenial } from "./policy.ts";
import {
  type AskedFor,
  namedSummary,
  type PlannedCall,
  previewBatch,
  resolved,
  shortSummary,
} from "./preview-batch.ts";
import { type LoopSettings, MESSAGES, type ToolsMode } from "./settings.ts";
import type { LoopTool } from "./tools.ts";

/**
 * The arguments of a call from the text the model sent. No text at all is how some providers say that there are none.
 * The refusal names the place but never repeats the text, in which there may be a secret.
 */
function readArguments(text: string): { input: JsonObject } | { error: Failure } {
  if (text.trim() === "") return { input: {} };
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value)
      ? { input: value }
      : { error: bad(`Arguments must be a JSON object, not ${kindOf(value)}`) };
  } catch (thrown) {
    return { error: bad(`Arguments are not valid JSON${placeOf(thrown)}`) };
  }
}

function bad(message: string): Failure {
  return failure("E3901", {
    message,
    advice: "Send the arguments as one JSON object that fits the tool's schema.",
  });
}

function kindOf(value: unknown): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "an array" : `a ${typeof value}`;
}

function placeOf(thrown: unknown): string {
  const said = thrown instanceof Error ? thrown.message : "";
  const position = / at position (\d+)/.exec(said)?.[1];
  if (position !== undefined) return ` at position ${position}`;
  return said.includes("end of JSON input") ? ": they end too early" : "";
}

/** What is said of a call before it runs. */
interface Described {
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

const LONGEST_NAME = 64;

/** Why calls are answered without running. Names in the messages are the model's words, so they are bounded. */
const refusals = {
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

export type { AskedFor, PlannedCall } from "./preview-batch.ts";

/** What calls are planned by. */
export interface PlanningContext {
  /** Only `enabled` lets anything run. */
  mode: ToolsMode;
  settings: LoopSettings;
  /** By the name the model knows. */
  tools: ReadonlyMap<string, LoopTool>;
  conversationId: string;
  /** Which batch of the person's turn this is, counted from 1. */
  iteration: number;
  /** How long a tool may take to say what a call would change. */
  previewMs?: number;
  engine: {
    plan(request: {
      tool: string;
      version?: string;
      operation?: string;
      input: JsonValue;
    }): Promise<CallPlan>;
  };
}

/**
 * Says of every call of a batch what is to become of it, in call order, before anybody is asked and before anything
 * runs (FR-VAL-02). Executes nothing and never rejects: what goes wrong here becomes that call's answer.
 *
 * The order: duplicate id, batch count, mode, iterations, policy disabled, denylist, size of the arguments, lookup,
 * JSON, the engine's own checks (schema, authority, what a person must be asked), the tool's preflight, deny mode, and
 * for what a person would be asked about whether its tool would do it at all.
 * A person is asked where the engine or the loop's own policy says so. Where that policy is one of the engine's too, a
 * standing grant may have answered for it; then nobody is asked again.
 */
export async function planBatch(
  calls: readonly AskedFor[],
  context: PlanningContext,
): Promise<PlannedCall[]> {
  const beyond = beyondTheBatch(calls, context.settings.limits.maxToolCallsPerBatch);
  const planned = await Promise.all(
    calls.map((call) => {
      const error = beyond.get(call);
      return error ? resolved(call, error) : planCall(call, context);
    }),
  );
  return await previewBatch(planned, context);
}

/** The first call of an id stays, later ones are errors, and those do not count towards the limit (FR-VAL-02a). */
function beyondTheBatch(calls: readonly AskedFor[], limit: number): Map<AskedFor, Failure> {
  const errors = new Map<AskedFor, Failure>();
  const byId = new Map<string, AskedFor>();
  for (const call of calls) {
    if (byId.has(call.id)) errors.set(call, refusals.duplicateId(call.id));
    else byId.set(call.id, call);
  }
  const [first, ...others] = [...byId.values()].slice(Math.max(0, limit));
  if (first) errors.set(first, refusals.tooManyCalls(byId.size, limit));
  for (const call of others) errors.set(call, refusals.alsoTooMany(limit));
  return errors;
}

async function planCall(call: AskedFor, context: PlanningContext): Promise<PlannedCall> {
  const early = refusedByName(call, context) ?? refusedBySize(call, context);
  if (early) return resolved(call, early);
  const tool = context.tools.get(call.name);
  if (!tool) return resolved(call, refusals.unknownTool(call.name, context.tools.keys()));
  const risk = tool.sideEffects ? "medium" : "low";
  const read = readArguments(call.arguments);
  if ("error" in read) return resolved(call, read.error, { risk });
  try {
    return await planKnown(call, { tool, input: read.input }, context);
  } catch (thrown) {
    return resolved(call, refusals.threw(thrown), { risk });
  }
}

function refusedByName(
  { name }: AskedFor,
  { mode, settings, iteration }: PlanningContext,
): Failure | undefined {
  const { maxToolIterationsPerUserTurn: limit } = settings.limits;
  if (mode !== "enabled") return refusals.modeDisabled();
  if (iteration > limit) return refusals.maxIterations(limit);
  const denied = outrightDenial(settings.policy, name);
  return denied && refusals.byPolicy(denied.kind, name);
}

function refusedBySize(call: AskedFor, { settings }: PlanningContext): Failure | undefined {
  const { maxToolArgsBytes: limit } = settings.limits;
  const bytes = Buffer.byteLength(call.arguments);
  return bytes > limit ? refusals.argumentsTooLarge(bytes, limit) : undefined;
}

interface Known {
  tool: LoopTool;
  input: JsonValue;
}

async function planKnown(call: AskedFor, known: Known, context: PlanningContext): Promise<PlannedCall> {
  const { tool, input } = known;
  const plan = await context.engine.plan({ ...targetOf(tool), input });
  if (plan.kind === "refused") {
    const error = await reasonFor(plan.error, known, context);
    return resolved(call, error, { risk: tool.sideEffects ? "medium" : "low" });
  }
  const { risk } = plan;
  const summary = shortSummary(plan.summary);
  const unfit = await tool.preflight?.(input, context.conversationId);
  const error = unfit ?? deniedByMode(tool, context);
  if (error) return resolved(call, error, { summary, risk });
  const { index, id, name } = call;
  const planned = { index, id, name, summary, risk, tool, input };
  if (plan.kind === "ask") return { ...planned, kind: "confirm", because: plan.because, after: [] };
  const isAnswered = plan.standing !== undefined || loopVerdict(context.settings.policy, tool).kind !== "ask";
  return isAnswered
    ? { ...planned, kind: "execute" }
    : { ...planned, kind: "confirm", because: "caller", after: [] };
}

/**
 * A tool that cannot describe a call may know what is wrong with it; only that helps the model to do better. And a path
 * that nobody may touch is refused as such before it counts which tools may run at all (FR-APR-05).
 */
const PREFLIGHT_FIRST: ReadonlySet<string> = new Set(["E3211", "E3953"]);

async function reasonFor(
  error: Failure,
  { tool, input }: Known,
  { conversationId }: PlanningContext,
): Promise<Failure> {
  if (!PREFLIGHT_FIRST.has(error.code)) return error;
  return (await tool.preflight?.(input, conversationId)) ?? error;
}

function deniedByMode(tool: LoopTool, { settings }: PlanningContext): Failure | undefined {
  const { kind } = loopVerdict(settings.policy, tool);
  return kind === "not_allowlisted" ? refusals.byPolicy(kind, tool.name) : undefined;
}
