import { exactRecord, listOf, named, optional, SallyportError, text } from "@sallyport/protocol";
import { defineRoute, type Route } from "../http/route.ts";
import type { ReloadReport } from "./reload-house.ts";

/** What a reload has done, as the API says it. */
interface ReloadResponse {
  file: string | null | undefined;
  applied: string[];
  needs_restart: string[];
  tools: { added: string[]; changed: string[]; gone: string[] };
}

const names = listOf(text);

const reloadResponseField = named(
  "ReloadResponse",
  exactRecord<ReloadResponse>({
    file: optional(text),
    applied: names,
    needs_restart: names,
    tools: exactRecord<ReloadResponse["tools"]>({ added: names, changed: names, gone: names }),
  }),
);

/** `POST /v1/config:reload`: the same as SIGHUP, with an answer. */
export function reloadRoutes(reload: () => Promise<ReloadReport>): Route[] {
  return [
    defineRoute<undefined, undefined, undefined>({
      id: "reloadConfig",
      method: "POST",
      path: "/v1/config:reload",
      tag: "House",
      summary: "Apply a changed configuration",
      description:
        "Reads the configuration, the rules and the tools again and puts them into force all at once. When anything is wrong nothing changes, and the problem says what and where. Keys that only a restart applies are named.",
      access: "operator",
      answers: { 200: { description: "What is in force now.", schema: reloadResponseField } },
      handle: async () => ({ status: 200, body: responseOf(await reload()) }),
    }),
  ];
}

function responseOf(report: ReloadReport): ReloadResponse {
  if (!report.ok) throw new SallyportError(report.failure);
  const { file, applied, needsRestart, tools } = report;
  return { file: file ?? null, applied, needs_restart: needsRestart, tools };
}
