import { isJsonObject, type JsonObject } from "@sallyport/protocol";
import type { RunFault } from "../../ports/runner.ts";
import { isToolCode } from "../../ports/tool-codes.ts";
import { cleanText, toolsMessage } from "./describe-thrown.ts";
import { MAX_FILE_VALUE_CHARS } from "./file-op.ts";
import { type CallReport, decodeFrame, type Report } from "./thread-frames.ts";
import {
  HOST_METHODS,
  type HostMethod,
  type HostQuestion,
  MAX_HOST_VALUE_BYTES,
  MAX_SUBJECT_CHARS,
} from "./tool-context.ts";

const MAX_STACK_CHARS = 8_000;
const MAX_HEAD_CHARS = 64 * 1_024;

export interface OpenedReport {
  report: Report;
  body: string;
}

/** The longest report of a call with that limit; longer ones need not be read to the end. */
export function longestReport(maxOutputBytes: number): number {
  return MAX_HEAD_CHARS + Math.max(MAX_FILE_VALUE_CHARS, MAX_HOST_VALUE_BYTES, maxOutputBytes);
}

/**
 * Reads what came out of a thread or a process as if an enemy had written it. `undefined` means garbage: not a
 * string, too long for what it is, no known kind, or a field of the wrong shape. Never throws.
 */
export function readReport(message: unknown, maxOutputBytes: number): OpenedReport | undefined {
  if (typeof message !== "string" || message.length > longestReport(maxOutputBytes)) return undefined;
  if (message.indexOf("\n") > MAX_HEAD_CHARS) return undefined;
  try {
    const { head, body } = decodeFrame(message);
    const report = isJsonObject(head) ? checkReport(head) : undefined;
    return report && body.length <= longestBody(report, maxOutputBytes) ? { report, body } : undefined;
  } catch {
    return undefined;
  }
}

/** Only files may be large. */
function longestBody(report: Report, maxOutputBytes: number): number {
  if (report.kind === "ask" && report.method === "file") return MAX_FILE_VALUE_CHARS;
  return Math.max(MAX_HOST_VALUE_BYTES, maxOutputBytes);
}

/** What is asked, of a report whose shape is checked. */
export function questionFrom(report: Extract<CallReport, { kind: "ask" }>, body: string): HostQuestion {
  const { method, subject } = report;
  const hasValue = method === "put" || method === "file" || (method === "use" && body !== "");
  return hasValue ? { method, subject, value: body } : { method, subject };
}

function checkReport(head: JsonObject): Report | undefined {
  if (head.kind === "ready") {
    return isAmount(head.threadCpuMs) ? { kind: "ready", threadCpuMs: head.threadCpuMs } : undefined;
  }
  if (head.kind === "unusable") {
    const fault = checkFault(head.fault);
    return fault && { kind: "unusable", fault };
  }
  const { call } = head;
  if (!isCount(call)) return undefined;
  if (head.kind === "done" || head.kind === "failed") return checkEnding(head, call);
  if (head.kind === "ask") return checkAsk(head, call);
  return head.kind === "progress" ? checkProgress(head, call) : undefined;
}

function checkEnding(head: JsonObject, call: number): Report | undefined {
  const { threadCpuMs, memoryBytes } = head;
  if (!isAmount(threadCpuMs) || !isAmount(memoryBytes)) return undefined;
  if (head.kind === "done") return { kind: "done", call, threadCpuMs, memoryBytes };
  const fault = checkFault(head.fault);
  return fault && { kind: "failed", call, threadCpuMs, memoryBytes, fault };
}

function checkAsk(head: JsonObject, call: number): Report | undefined {
  const { question, method, subject } = head;
  if (!isCount(question) || !isHostMethod(method) || typeof subject !== "string") return undefined;
  return subject.length > MAX_SUBJECT_CHARS ? undefined : { kind: "ask", call, question, method, subject };
}

function checkProgress(head: JsonObject, call: number): Report | undefined {
  const { percent, phase } = head;
  if (!isAmount(percent) || percent > 100) return undefined;
  if (phase === undefined) return { kind: "progress", call, percent };
  return typeof phase === "string" ? { kind: "progress", call, percent, phase } : undefined;
}

function checkFault(value: unknown): RunFault | undefined {
  if (!isJsonObject(value)) return undefined;
  if (value.kind === "timeout") return { kind: "timeout" };
  if (value.kind === "output_too_large") {
    return isAmount(value.bytes) ? { kind: "output_too_large", bytes: value.bytes } : undefined;
  }
  if (typeof value.message !== "string") return undefined;
  const message = cleanText(value.message);
  if (value.kind === "died" || value.kind === "not_json") return { kind: value.kind, message };
  return value.kind === "threw" ? checkThrew(value, toolsMessage(value.message)) : undefined;
}

function checkThrew(value: JsonObject, message: string): RunFault {
  const fault: RunFault = { kind: "threw", message };
  if (typeof value.stack === "string") fault.stack = cleanText(value.stack, MAX_STACK_CHARS);
  if (value.invalidInput === true) fault.invalidInput = true;
  if (isToolCode(value.code)) fault.code = value.code;
  return fault;
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value);
}

function isAmount(value: unknown): value is number {
  return typeof value === "number" && value >= 0 && value < Number.MAX_SAFE_INTEGER;
}

function isHostMethod(value: unknown): value is HostMethod {
  return HOST_METHODS.some((method) => method === value);
}
