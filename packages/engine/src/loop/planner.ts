import type { Failure, JsonValue } from "@sallyport/protocol";
import { targetOf } from "./call-order.ts";
import type { CallPlan } from "./call-plan.ts";
import { loopVerdict, outrightDenial } from "./loop-policy.ts";
import type { LoopSettings, ToolsMode } from "./loop-settings.ts";
import type { LoopTool } from "./loop-tool.ts";
import { type AskedFor, type PlannedCall, resolved, shortSummary } from "./planned-call.ts";
import { refusals } from "./planner-refusals.ts";
import { readArguments } from "./read-arguments.ts";
import { rehearseBatch } from "./rehearsal.ts";

export type { AskedFor, PlannedCall } from "./planned-call.ts";

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
  rehearsalMs?: number;
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
 * Whether a person is asked is the engine's word alone: the loop's policy is one of its policies, and a standing
 * grant may have answered for it.
 */
export async function planBatch(calls: readonly AskedFor[], around: PlanningContext): Promise<PlannedCall[]> {
  const beyond = beyondTheBatch(calls, around.settings.limits.maxToolCallsPerBatch);
  const planned = await Promise.all(
    calls.map((call) => {
      const error = beyond.get(call);
      return error ? resolved(call, error) : planCall(call, around);
    }),
  );
  return await rehearseBatch(planned, around);
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

async function planCall(call: AskedFor, around: PlanningContext): Promise<PlannedCall> {
  const early = refusedByName(call, around) ?? refusedBySize(call, around);
  if (early) return resolved(call, early);
  const tool = around.tools.get(call.name);
  if (!tool) return resolved(call, refusals.unknownTool(call.name, around.tools.keys()));
  const risk = tool.sideEffects ? "medium" : "low";
  const read = readArguments(call.arguments);
  if ("error" in read) return resolved(call, read.error, { risk });
  try {
    return await planKnown(call, { tool, input: read.input }, around);
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

async function planKnown(call: AskedFor, known: Known, around: PlanningContext): Promise<PlannedCall> {
  const { tool, input } = known;
  const plan = await around.engine.plan({ ...targetOf(tool), input });
  if (plan.kind === "refused") {
    const error = await reasonFor(plan.error, known, around);
    return resolved(call, error, { risk: tool.sideEffects ? "medium" : "low" });
  }
  const { risk } = plan;
  const summary = shortSummary(plan.summary);
  const unfit = await tool.preflight?.(input, around.conversationId);
  const error = unfit ?? deniedByMode(tool, around);
  if (error) return resolved(call, error, { summary, risk });
  const { index, id, name } = call;
  const planned = { index, id, name, summary, risk, tool, input };
  return plan.kind === "run"
    ? { ...planned, kind: "execute" }
    : { ...planned, kind: "confirm", because: plan.because, after: [] };
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
