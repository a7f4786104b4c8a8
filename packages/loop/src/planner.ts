import type { CallPlan, PlanRequest } from "@sallyport/engine";
import { timerMs, visible } from "@sallyport/engine/host";
import type { ApprovalCause } from "@sallyport/engine/ports";
import {
  entryOf,
  type Failure,
  type FileEffects,
  failure,
  isFailure,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  nearestNames,
  type Risk,
  SallyportError,
} from "@sallyport/protocol";
import { type AskedCall, type LoopParts, targetOf } from "./context.ts";
import { raceAbort } from "./event-channel.ts";
import type { CallLine } from "./events.ts";
import { loopVerdict, outrightDenial } from "./policy.ts";
import { failureText } from "./results.ts";
import { type LoopSettings, MESSAGES, type ToolsMode } from "./settings.ts";
import type { LoopTool } from "./tools.ts";

/** A call as the model asked for it. */
export type AskedFor = Omit<AskedCall, "meta">;

/** What is to become of a call (FR-APR-02): it runs, a person is asked, or it is answered already and nothing runs. */
export type PlannedCall = CallLine &
  (
    | { kind: "execute"; tool: LoopTool; input: JsonValue }
    | {
        kind: "confirm";
        tool: LoopTool;
        input: JsonValue;
        because: ApprovalCause;
        /** The tools of the calls of the batch that run before it. */
        after: readonly LoopTool[];
        /** What it would change as things stand, where its tool can tell. */
        preview?: FileEffects;
      }
    /** The reason is what the model is told. */
    | { kind: "resolved"; error: Failure; reason: string }
  );

type Confirmed = Extract<PlannedCall, { kind: "confirm" }>;

/** What is said of a call before it runs. */
type Described = Pick<CallLine, "summary" | "risk">;

const LONGEST_SUMMARY = 200;
const LONGEST_NAME = 64;
const ELLIPSIS = "...";

/** A call that does not run, with what is known of it so far. */
export function resolved(
  { index, id, name }: Pick<AskedFor, "index" | "id" | "name">,
  error: Failure,
  { summary = namedSummary(name), risk = "low" }: Partial<Described> = {},
): PlannedCall {
  const reason = failureText(error, name).content;
  return { kind: "resolved", index, id, name, summary, risk, error, reason };
}

/** For a call of which no more is known than what it is called. */
function namedSummary(name: string): string {
  return shortSummary(visible(name.slice(0, LONGEST_SUMMARY)));
}

/** At most 200 characters, 197 and dots where there were more (FR-APR-06). No character is split. */
function shortSummary(text: string): string {
  if (text.length <= LONGEST_SUMMARY) return text;
  const room = LONGEST_SUMMARY - ELLIPSIS.length;
  return text.slice(0, room).replace(/[\ud800-\udbff]$/, "") + ELLIPSIS;
}

/** The model's own words, bounded. */
function short(text: string): string {
  const shown = visible(text.slice(0, LONGEST_NAME));
  return text.length > LONGEST_NAME ? shown + ELLIPSIS : shown;
}

/** For a call whose plan says nothing. */
function riskOf(tool: LoopTool | undefined): Risk {
  return tool?.sideEffects ? "medium" : "low";
}

/**
 * The arguments of a call from the text the model sent. No text at all is how some providers say that there are none.
 * The refusal names the place but never repeats the text, in which there may be a secret.
 */
function readArguments(text: string): { input: JsonObject } | { error: Failure } {
  if (text.trim() === "") return { input: {} };
  let message: string;
  try {
    const value: unknown = JSON.parse(text);
    if (isJsonObject(value)) return { input: value };
    const kind = value === null ? "null" : Array.isArray(value) ? "an array" : `a ${typeof value}`;
    message = `Arguments must be a JSON object, not ${kind}`;
  } catch (thrown) {
    message = `Arguments are not valid JSON${placeOf(thrown)}`;
  }
  const advice = "Send the arguments as one JSON object that fits the tool's schema.";
  return { error: failure("E3901", { message, advice }) };
}

function placeOf(thrown: unknown): string {
  const said = thrown instanceof Error ? thrown.message : "";
  const position = / at position (\d+)/.exec(said)?.[1];
  if (position !== undefined) return ` at position ${position}`;
  return said.includes("end of JSON input") ? ": they end too early" : "";
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
  const unknown: Described = { summary: namedSummary(name), risk: riskOf(tool) };
  const read = readArguments(given);
  if (!tool || "error" in read) return unknown;
  try {
    const plan = await engine.plan({ ...targetOf(tool), input: read.input, caller });
    return plan.kind === "refused" ? unknown : { summary: shortSummary(plan.summary), risk: plan.risk };
  } catch {
    return unknown;
  }
}

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
  engine: { plan(request: Omit<PlanRequest, "caller">): Promise<CallPlan> };
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
  const whole = calls.filter(({ isCut }) => !isCut);
  const beyond = beyondTheBatch(whole, context.settings.limits.maxToolCallsPerBatch);
  const planned = await Promise.all(
    calls.map((call) => {
      const error = call.isCut ? CUT_OFF : beyond.get(call);
      return error ? resolved(call, error) : planCall(call, context);
    }),
  );
  return await previewBatch(planned, context);
}

const CUT_OFF = failure("E3901", {
  message: "The call was cut off before its arguments were complete.",
  advice: "Make it again, shorter.",
});

/** The first call of an id stays, later ones are errors, and those do not count towards the limit (FR-VAL-02a). */
function beyondTheBatch(calls: readonly AskedFor[], limit: number): Map<AskedFor, Failure> {
  const errors = new Map<AskedFor, Failure>();
  const byId = new Map<string, AskedFor>();
  for (const call of calls) {
    const id = short(call.id);
    if (!byId.has(call.id)) byId.set(call.id, call);
    else errors.set(call, failure("E3950", { message: `Duplicate tool call id: ${id}`, details: { id } }));
  }
  const [first, ...others] = [...byId.values()].slice(Math.max(0, limit));
  const tooMany = (message: string, advice: string, details = {}) =>
    failure("E3957", { message, advice, details: { limit, ...details } });
  if (first) {
    const message = `${byId.size} tool calls in one batch; max_tool_calls_per_batch is ${limit}`;
    const advice = `Make at most ${limit} calls at a time; the first ${limit} of these are being dealt with.`;
    errors.set(first, tooMany(message, advice, { count: byId.size }));
  }
  // What to do about it is said once.
  const alsoTooMany = `Not run: max_tool_calls_per_batch is ${limit}`;
  for (const call of others) errors.set(call, tooMany(alsoTooMany, ""));
  return errors;
}

async function planCall(call: AskedFor, context: PlanningContext): Promise<PlannedCall> {
  const early = refusedEarly(call, context);
  if (early) return resolved(call, early);
  const tool = context.tools.get(call.name);
  if (!tool) return resolved(call, unknownTool(call.name, context.tools.keys()));
  const risk = riskOf(tool);
  const read = readArguments(call.arguments);
  if ("error" in read) return resolved(call, read.error, { risk });
  try {
    return await planKnown(call, { tool, input: read.input }, context);
  } catch (thrown) {
    return resolved(call, unplanned(thrown), { risk });
  }
}

/** Why a call does not run whatever its tool says, from its name and size alone. */
function refusedEarly(
  { name, arguments: given }: AskedFor,
  { mode, settings: { limits, policy }, iteration, tools }: PlanningContext,
): Failure | undefined {
  const { maxToolIterationsPerUserTurn, maxToolArgsBytes } = limits;
  if (mode !== "enabled") return failure("E3954", { message: MESSAGES.disabled });
  if (iteration > maxToolIterationsPerUserTurn) {
    return failure("E3957", {
      message: MESSAGES.maxIterations,
      advice: "Answer with what is known; the person's next message allows further calls.",
      details: { limit: maxToolIterationsPerUserTurn },
    });
  }
  const denied = outrightDenial(policy, name);
  if (denied) return failure(denied.code, { message: denied.reason });
  const bytes = Buffer.byteLength(given);
  const own = tools.get(name)?.maxArgumentBytes;
  const limit = own ?? maxToolArgsBytes;
  if (bytes <= limit) return undefined;
  const allowed = own === undefined ? `max_tool_args_bytes is ${limit}` : `${name} takes ${limit}`;
  const message = `Arguments are ${bytes} bytes; ${allowed}`;
  return failure("E3957", { message, details: { limit, bytes } });
}

function unknownTool(name: string, known: Iterable<string>): Failure {
  const nearest = nearestNames(name, known);
  const hint = nearest.length === 0 ? "" : `. Did you mean ${nearest.map((one) => `"${one}"`).join(" or ")}?`;
  return failure("E3001", {
    message: `Unknown tool: ${short(name)}${hint}`,
    advice: "Call one of the tools that were offered, by its exact name.",
    details: { nearest },
  });
}

/** Planning itself went wrong; the call is answered all the same, and never runs. */
function unplanned(thrown: unknown): Failure {
  if (thrown instanceof SallyportError) return thrown.failure;
  const why = thrown instanceof Error ? thrown.message : String(thrown);
  return failure("E3900", { message: `The call could not be planned: ${visible(why.slice(0, 500))}` });
}

/**
 * A tool that cannot describe a call may know what is wrong with it; only that helps the model to do better. And a path
 * that nobody may touch is refused as such before it counts which tools may run at all (FR-APR-05).
 */
const PREFLIGHT_FIRST: ReadonlySet<string> = new Set(["E3211", "E3953"]);

async function planKnown(
  call: AskedFor,
  { tool, input }: { tool: LoopTool; input: JsonValue },
  { engine, settings, conversationId }: PlanningContext,
): Promise<PlannedCall> {
  const plan = await engine.plan({ ...targetOf(tool), input });
  const isRefused = plan.kind === "refused";
  const unfit =
    isRefused && !PREFLIGHT_FIRST.has(plan.error.code)
      ? undefined
      : await tool.preflight?.(input, conversationId);
  if (isRefused) return resolved(call, unfit ?? plan.error, { risk: riskOf(tool) });
  const said = { summary: shortSummary(plan.summary), risk: plan.risk };
  const verdict = loopVerdict(settings.policy, tool);
  if (unfit) return resolved(call, unfit, said);
  if ("code" in verdict) return resolved(call, failure(verdict.code, { message: verdict.reason }), said);
  const { index, id, name } = call;
  const planned = { index, id, name, ...said, tool, input };
  if (plan.kind === "ask") return { ...planned, kind: "confirm", because: plan.because, after: [] };
  const isAnswered = plan.standing !== undefined || verdict.kind !== "ask";
  return isAnswered
    ? { ...planned, kind: "execute" }
    : { ...planned, kind: "confirm", because: "caller", after: [] };
}

/** How long a tool may take to say what a call would change; afterwards the person is asked without. */
const PREVIEW_MS = 10_000;

type PreviewOptions = Pick<PlanningContext, "conversationId" | "previewMs">;

/**
 * Tries out, one after the other, the calls a person is to be asked about. What its tool would refuse as things stand is
 * answered with that, unless a call that runs before it may mend it; of the others the person sees what they would
 * change. Never rejects.
 */
async function previewBatch(
  planned: readonly PlannedCall[],
  options: PreviewOptions,
): Promise<PlannedCall[]> {
  const previewed: PlannedCall[] = [];
  const before: LoopTool[] = [];
  for (const call of planned) {
    const next = call.kind === "confirm" ? await preview({ ...call, after: [...before] }, options) : call;
    if (next.kind !== "resolved") before.push(next.tool);
    previewed.push(next);
  }
  return previewed;
}

async function preview(call: Confirmed, options: PreviewOptions): Promise<PlannedCall> {
  const said = await effectsOf(call, call.input, options);
  if (!said) return call;
  return isFailure(said) ? resolved(call, said, call) : { ...call, preview: said };
}

/**
 * What the call, with these arguments instead of its own, would change; a failure when it would fail for certain. Undefined
 * when its tool cannot tell, or not in time, or when a call before it may mend it: then the person is asked all the same.
 */
export async function effectsOf(
  { tool, after }: Pick<Confirmed, "tool" | "after">,
  input: JsonValue,
  { conversationId, previewMs = PREVIEW_MS }: PreviewOptions,
): Promise<FileEffects | Failure | undefined> {
  const timeout = AbortSignal.timeout(timerMs(previewMs));
  try {
    const said = await raceAbort(tool.preview?.(input, conversationId), timeout);
    return said && isFailure(said) && mayBeMended(said, after) ? undefined : said;
  } catch {
    return undefined;
  }
}

/** A call that changes things may mend anything; one that only reads may be the read that was missing. */
function mayBeMended(error: Failure, before: readonly LoopTool[]): boolean {
  return before.some(({ sideEffects }) => sideEffects || entryOf(error).srd === "StaleFile");
}
