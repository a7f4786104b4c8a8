import type { JsonValue } from "@sallyport/protocol";
import type { ToolHost } from "../../ports/runner.ts";
import { describeThrown } from "./describe-thrown.ts";
import { decodeFileOp, encodeFileAnswer, performFileOp } from "./file-op.ts";
import { copyJson } from "./json-text.ts";
import type { HostError } from "./thread-frames.ts";
import type { HostQuestion } from "./tool-context.ts";
import { decodeUse } from "./use-of.ts";

/** Puts a tool's question to the host. Rejects with the host's own error; the answer is a copy. */
export async function askHost(host: ToolHost, question: HostQuestion): Promise<JsonValue | undefined> {
  const { subject, value } = question;
  switch (question.method) {
    case "get":
      return copyJson(await host.get(subject));
    case "keys":
      return [...(await host.keys(subject))];
    case "put":
      await host.put(subject, JSON.parse(value ?? "null"));
      return undefined;
    case "delete":
      await host.delete(subject);
      return undefined;
    case "use":
      await host.use(subject, value === undefined ? undefined : decodeUse(value));
      return undefined;
    case "file":
      return encodeFileAnswer(await performFileOp(host.files, subject, decodeFileOp(value ?? "")));
  }
}

/** The host's word on its way to the tool: a body (nothing for `undefined`), or an error. */
export interface HostReply {
  body: string;
  error?: HostError;
}

/** As askHost, for a tool that is reached by messages: a refusal becomes part of the answer. Never rejects. */
export async function answerFor(host: ToolHost, question: HostQuestion): Promise<HostReply> {
  try {
    const value = await askHost(host, question);
    return { body: value === undefined ? "" : JSON.stringify(value) };
  } catch (error) {
    return { body: "", error: hostError(error) };
  }
}

/** Passes progress on. A host that throws here is ignored: progress is never worth a call. */
export function tellProgress(host: ToolHost, report: { percent: number; phase?: string | undefined }): void {
  try {
    if (report.phase === undefined) host.progress(report.percent);
    else host.progress(report.percent, report.phase);
  } catch {
    // Nobody is waiting for an answer.
  }
}

function hostError(error: unknown): HostError {
  const { message } = describeThrown(error);
  if (!(error instanceof Error)) return { name: "Error", message };
  const { name } = error;
  return "code" in error && typeof error.code === "string"
    ? { name, message, code: error.code }
    : { name, message };
}
