import {
  absentOr,
  domainField,
  exactRecord,
  type Failure,
  type Infer,
  listOf,
  named,
  optional,
  SallyportError,
  text,
} from "@sallyport/protocol";
import { PROBLEM_TYPE, problemOf, requestUrn } from "../http/kernel/problem.ts";
import { defineRoute, type Reply, type Route } from "../http/route.ts";
import type { ReloadReport } from "./reload-runtime.ts";

const names = listOf(text);

/** What a reload has done, as the API says it. */
const reloadResponseField = named(
  "ReloadResponse",
  exactRecord({
    file: optional(text),
    applied: names,
    needs_restart: names,
    tools: exactRecord({ added: names, changed: names, gone: names }),
    domain: absentOr(domainField, "Of a gateway: what it serves now."),
  }),
);
type ReloadResponse = Infer<typeof reloadResponseField>;

/** `POST /v1/config:reload`: the same as SIGHUP, with an answer. */
export function reloadRoutes(reload: () => Promise<ReloadReport>): Route[] {
  return [
    defineRoute({
      id: "reloadConfig",
      method: "POST",
      path: "/v1/config:reload",
      tag: "Server",
      summary: "Apply a changed configuration",
      description:
        "Reads the configuration, the rules and the tools again and puts them into force all at once. When anything is wrong nothing changes, and the problem says what and where. Keys that only a restart applies are named.",
      access: "operator",
      answers: {
        200: { description: "What is in force now.", schema: reloadResponseField },
        422: { description: "A file is wrong; nothing has changed.", content: PROBLEM_TYPE },
      },
      handle: async ({ requestId }) => {
        const report = await reload();
        return report.ok ? { status: 200, body: responseOf(report) } : refusalOf(report.failure, requestId);
      },
    }),
  ];
}

/** What is in a file is no failure of the server: where it would be one at the start, the answer is 422. */
function refusalOf(failed: Failure, requestId: string): Reply {
  const problem = problemOf(failed, { instance: requestUrn(requestId) });
  if (problem.status !== 500) throw new SallyportError(failed);
  const body = { ...problem, status: 422 };
  return { status: 422, headers: { "content-type": PROBLEM_TYPE }, body, code: failed.code };
}

function responseOf(report: ReloadReport & { ok: true }): ReloadResponse {
  const { file, applied, needsRestart, tools, domain } = report;
  return {
    file: file ?? null,
    applied,
    needs_restart: needsRestart,
    tools,
    ...(domain && { domain: { domain_id: domain.id, version: domain.version } }),
  };
}
