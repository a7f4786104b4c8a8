import type { JsonValue } from "@sallyport/protocol";
import type { ToolHost } from "../../ports/runner.ts";
import { copyJson } from "./json-text.ts";
import type { HostQuestion } from "./tool-context.ts";
import { decodeUse } from "./use-of.ts";

/** Puts a tool's question to the host. Rejects with the host's own error; the answer is a copy. */
export async function askHost(host: ToolHost, question: HostQuestion): Promise<JsonValue | undefined> {
  switch (question.method) {
    case "get":
      return copyJson(await host.get(question.subject));
    case "keys":
      return [...(await host.keys(question.subject))];
    case "put":
      await host.put(question.subject, JSON.parse(question.value ?? "null"));
      return undefined;
    case "delete":
      await host.delete(question.subject);
      return undefined;
    case "use":
      await host.use(question.subject, question.value === undefined ? undefined : decodeUse(question.value));
      return undefined;
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
