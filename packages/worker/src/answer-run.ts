import { type Issue, type JsonValue, namesTwice, parseJson } from "@sallyport/protocol";
import { type WorkerError, type WorkerRequest, workerRequestField } from "@sallyport/protocol/worker";
import { ToolError } from "./tool-error.ts";
import type { ToolContext, WorkerTool } from "./worker-tool.ts";

/** What a run takes from its worker and its connection. */
export interface RunSetting {
  tools: ReadonlyMap<string, WorkerTool>;
  /**
   * Of this run alone. Aborted, with what the caller is told, at the deadline, when nobody waits any more, and when the worker
   * must stop. (Signals joined to one that lives long, by `AbortSignal.any`, would be kept as long as that.)
   */
  abort: AbortController;
  traceHeaders: ToolContext["traceHeaders"];
  /** Hears of exceptions that are no `ToolError`. */
  onError(error: unknown, runId: string): void;
}

/** The longest a timer can wait; a later deadline has no timer. */
const MAX_TIMER_MS = 2 ** 31 - 1;
const UNKNOWN_ID = "unknown";

/** The envelope that answers this body, as JSON; an error stands for a body that could not be read. Never rejects. */
export async function answerRun(body: string | ToolError, setting: RunSetting): Promise<string> {
  const startedAt = performance.now();
  const value = body instanceof ToolError ? body : parse(body);
  const ids = idsOf(value);
  const meta = () => JSON.stringify({ ...ids, duration_ms: Math.round(performance.now() - startedAt) });
  try {
    const output = jsonOf(await runTool(checkedRequest(value), setting));
    return `{"ok":true,"meta":${meta()},"output":${output}}`;
  } catch (error) {
    if (!(error instanceof ToolError)) setting.onError(error, ids.tool_run_id);
    return `{"ok":false,"meta":${meta()},"error":${errorText(error)}}`;
  }
}

function parse(body: string): unknown {
  const value = parseJson(body);
  if (value === undefined) return new ToolError("VALIDATION_ERROR", "The body is not JSON.");
  if (!namesTwice(body, value)) return value;
  return new ToolError("VALIDATION_ERROR", "The body names a member twice.");
}

/** The ids as far as they can be read, so that also a refusal can be matched with its request. */
function idsOf(value: unknown): { trace_id: string; tool_run_id: string } {
  const meta = memberOf(value, "meta");
  return { trace_id: idOf(memberOf(meta, "trace_id")), tool_run_id: idOf(memberOf(meta, "tool_run_id")) };
}

function memberOf(value: unknown, name: string): unknown {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return undefined;
  return (value as Record<string, unknown>)[name];
}

function idOf(value: unknown): string {
  return typeof value === "string" && value !== "" ? value.slice(0, 255) : UNKNOWN_ID;
}

function checkedRequest(value: unknown): WorkerRequest {
  if (value instanceof ToolError) throw value;
  const issues: Issue[] = [];
  if (workerRequestField(value, "", issues)) return value;
  throw invalid("The request does not fit the envelope.", issues);
}

function invalid(message: string, issues: readonly Issue[]): ToolError {
  return new ToolError("VALIDATION_ERROR", message, {
    details: { issues: issues.map((issue) => ({ ...issue })) },
  });
}

function chooseTool({ meta }: WorkerRequest, tools: RunSetting["tools"]): [string, WorkerTool] {
  const only = tools.size === 1 ? [...tools.keys()][0] : undefined;
  const id = meta.tool_id ?? only;
  if (id === undefined) throw new ToolError("VALIDATION_ERROR", "meta.tool_id must say which tool.");
  const tool = tools.get(id);
  if (!tool) throw new ToolError("VALIDATION_ERROR", `This worker has no tool ${id}.`);
  return [id, tool];
}

async function runTool(request: WorkerRequest, setting: RunSetting): Promise<unknown> {
  const { meta, input } = request;
  const [toolId, tool] = chooseTool(request, setting.tools);
  const issues = tool.validate?.(input) ?? [];
  if (issues.length > 0) throw invalid("The input does not fit the tool.", issues);
  return await untilDeadline(meta.deadline_ms, setting.abort, (signal) =>
    tool.run(input, {
      signal,
      deadlineAt: meta.deadline_ms,
      toolId,
      runId: meta.tool_run_id,
      traceId: meta.trace_id,
      domainId: meta.domain_id,
      traceHeaders: setting.traceHeaders,
    }),
  );
}

/** What `work` gives, or TIMEOUT at the deadline: work that goes on after it is not waited for. */
function untilDeadline(
  deadlineAt: number,
  abort: AbortController,
  work: (signal: AbortSignal) => unknown,
): Promise<unknown> {
  const leftMs = deadlineAt - Date.now();
  const late = new ToolError("TIMEOUT", "The deadline passed.", { retryable: true });
  if (leftMs <= 0) return Promise.reject(late);
  const timer = leftMs > MAX_TIMER_MS ? undefined : setTimeout(() => abort.abort(late), leftMs);
  const { signal } = abort;
  const cutOff = Promise.withResolvers<never>();
  signal.addEventListener("abort", () => cutOff.reject(signal.reason), { once: true });
  if (signal.aborted) cutOff.reject(signal.reason);
  const done = (async () => work(signal))();
  return Promise.race([done, cutOff.promise]).finally(() => clearTimeout(timer));
}

/** No output is null; what JSON has no word for is a defect of the tool. */
function jsonOf(output: unknown): string {
  const text: string | undefined = JSON.stringify(output ?? null);
  if (text === undefined) throw new TypeError("The tool gave back what JSON cannot say.");
  return text;
}

const INTERNAL: WorkerError = {
  code: "INTERNAL",
  message: "The tool failed unexpectedly.",
  retryable: false,
};

/** Nothing of an unexpected exception is told: its text may hold a path or a secret. */
function errorText(error: unknown): string {
  if (!(error instanceof ToolError)) return JSON.stringify(INTERNAL);
  const { code, message, retryable, details } = error;
  try {
    return JSON.stringify({ code, message, retryable, ...(details && { details: details as JsonValue }) });
  } catch {
    // Details that are no JSON are left out: the rest still says what went wrong.
    return JSON.stringify({ code, message, retryable });
  }
}
