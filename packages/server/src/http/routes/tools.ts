import {
  defined,
  failure,
  isFailure,
  SallyportError,
  type ToolListQuery,
  type ToolListResponse,
  type ToolManifest,
  toolDetailField,
  toolListQueryField,
  toolListResponseField,
  toolParamsField,
  toolVersionsResponseField,
} from "@sallyport/protocol";
import { catalogueEntryOf } from "../../gateway/tool-manifest.ts";
import type { Principal } from "../principal.ts";
import { defineRoute, type Route } from "../route.ts";
import { hasLoadedCode, hiddenToolError, recordsOf } from "./known-tools.ts";
import type { RouteContext } from "./parts.ts";
import { searchTools } from "./search-tools.ts";
import { toolSummary, toolVersion } from "./tool-views.ts";

/** `GET /v1/tools…`: tool.list (L3 §4.1.2), and all about one tool. */
export function toolRoutes(parts: RouteContext): Route[] {
  return [listRoute(parts), detailRoute(parts), versionsRoute(parts)];
}

function listRoute(parts: RouteContext): Route {
  return defineRoute({
    id: "listTools",
    method: "GET",
    path: "/v1/tools",
    tag: "Tools",
    summary: "List the tools that can be called",
    description:
      "tool.list. A caller with a token sees the tools it may know of, and no others; one that is switched off is not listed. A gateway answers with the whole catalogue of its domain unless a page is asked for.",
    access: "caller",
    query: toolListQueryField,
    answers: { 200: { description: "A page of tools.", schema: toolListResponseField } },
    handle: ({ query, principal }) => ({ status: 200, body: listTools(query, principal, parts) }),
  });
}

function listTools(query: ToolListQuery, principal: Principal, parts: RouteContext): ToolListResponse {
  const found = matching(query, parts)
    .filter((manifest) => hasLoadedCode(manifest, parts))
    .filter(({ id }) => hiddenToolError(id, principal, parts) === undefined);
  const { gateway } = parts;
  // The catalogue of a domain is one thing: a client keeps all of it until the version changes.
  const isWhole = gateway && query.page === undefined && query.page_size === undefined;
  const page = Number(query.page ?? 1);
  const size = isWhole ? Math.max(1, found.length) : Number(query.page_size ?? 50);
  const health = gateway?.health();
  const records = Map.groupBy(parts.engine.tools.list(), ({ manifest }) => manifest.id);
  const tools = found.slice((page - 1) * size, page * size).map((manifest) => ({
    ...toolSummary(manifest, records.get(manifest.id) ?? [], parts),
    ...(health && { ...catalogueEntryOf(manifest), ...defined({ health: health(manifest)?.state }) }),
  }));
  const { id, version } = gateway?.domain ?? {};
  return { ...defined({ domain_id: id, version }), tools, total_count: found.length, page, page_size: size };
}

function matching(
  { category, tags, capability_query }: ToolListQuery,
  { engine, gateway }: RouteContext,
): ToolManifest[] {
  const wanted = tags?.split(",") ?? [];
  const fitting = (gateway ? inForce(gateway.domain.tools, engine) : engine.tools.definitions())
    .filter((one) => category === undefined || one.category === category)
    .filter((one) => wanted.every((tag) => one.tags.includes(tag)));
  return capability_query === undefined ? fitting : searchTools(fitting, capability_query);
}

/** The tools of a domain that are not kept from their callers. */
function inForce(tools: readonly ToolManifest[], engine: RouteContext["engine"]): ToolManifest[] {
  return tools.filter(({ id, version }) => !isFailure(engine.tools.resolve({ tool: id, version })));
}

function detailRoute(parts: RouteContext): Route {
  return defineRoute({
    id: "getTool",
    method: "GET",
    path: "/v1/tools/{tool_id}",
    tag: "Tools",
    summary: "Show one tool",
    description:
      "With the version that a call gets when it names none: its operations and their schemas. `status` is `inactive` while the operator has switched it off.",
    access: "caller",
    params: toolParamsField,
    answers: { 200: { description: "The tool.", schema: toolDetailField } },
    handle: ({ params, principal }) => {
      const records = recordsOf(params.tool_id, principal, parts);
      const current = currentOf(params.tool_id, parts);
      const record = records.find(({ manifest }) => manifest.version === current?.version);
      if (!current || !record) throw new SallyportError(noVersion(params.tool_id));
      const version = toolVersion(record, principal, parts);
      return { status: 200, body: { ...toolSummary(current, records, parts), current: version } };
    },
  });
}

function versionsRoute(parts: RouteContext): Route {
  return defineRoute({
    id: "listToolVersions",
    method: "GET",
    path: "/v1/tools/{tool_id}/versions",
    tag: "Tools",
    summary: "List every version of a tool",
    description: "Lowest first, with their lifecycles; deprecated, quarantined and removed ones too.",
    access: "caller",
    params: toolParamsField,
    answers: { 200: { description: "The versions.", schema: toolVersionsResponseField } },
    handle: ({ params, principal }) => {
      const records = recordsOf(params.tool_id, principal, parts);
      const latest = currentOf(params.tool_id, parts)?.version;
      return {
        status: 200,
        body: {
          tool_id: params.tool_id,
          ...(latest !== undefined && { latest_version: latest }),
          versions: records.map((record) => toolVersion(record, principal, parts)),
        },
      };
    },
  });
}

function currentOf(tool: string, { engine }: RouteContext): ToolManifest | undefined {
  return engine.tools.definitions().find(({ id }) => id === tool);
}

function noVersion(tool: string) {
  return failure("E3014", {
    message: `No version of ${tool} can be called now.`,
    advice: `See how each stands at /v1/tools/${encodeURIComponent(tool)}/versions.`,
  });
}
