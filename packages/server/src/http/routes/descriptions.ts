import { isJsonObject } from "@sallyport/protocol";
import type { BodyExamples } from "../openapi/curl-example.ts";
import { openApiDocument } from "../openapi/document.ts";
import { errorsPage } from "../openapi/errors-page.ts";
import { operationsPage } from "../openapi/operations-page.ts";
import { defineRoute, type Reply, type Route } from "../route.ts";
import type { RouteContext } from "./parts.ts";

const HTML = "text/html; charset=utf-8";

/** `/openapi.json` and `/docs`: the door's description of itself, made of the routes it has. */
export function descriptionRoutes(parts: RouteContext, routes: () => readonly Route[]): Route[] {
  const { version } = parts;
  const document = once(() => JSON.stringify(openApiDocument(routes(), { version })));
  const errors = once(errorsPage);
  return [
    defineRoute({
      id: "getOpenApi",
      method: "GET",
      path: "/openapi.json",
      tag: "Server",
      summary: "This API in OpenAPI 3.1",
      access: "public",
      answers: { 200: { description: "The document.", content: "application/json" } },
      handle: () => page("application/json; charset=utf-8", document()),
    }),
    defineRoute({
      id: "readDocs",
      method: "GET",
      path: "/docs",
      tag: "Server",
      summary: "This API as a page to read",
      access: "public",
      answers: { 200: { description: "The page.", content: "text/html" } },
      handle: async ({ origin }) =>
        page(HTML, operationsPage(routes(), { origin, version, examples: await examplesOf(parts) })),
    }),
    defineRoute({
      id: "openDocs",
      method: "GET",
      path: "/",
      tag: "Server",
      summary: "Lead to the page to read",
      access: "public",
      answers: { 303: { description: "It is at /docs.", headers: { Location: "`/docs`." } } },
      handle: () => ({ status: 303, headers: { location: "/docs" } }),
    }),
    defineRoute({
      id: "readErrors",
      method: "GET",
      path: "/docs/errors",
      tag: "Server",
      summary: "Every error code as a page to read",
      access: "public",
      answers: { 200: { description: "The page.", content: "text/html" } },
      handle: () => page(HTML, errors()),
    }),
  ];
}

/**
 * Bodies that this server would take, for the operations that run tools. Whoever reaches the door reads the page, so it
 * names tools only where whoever reaches the door may know of them.
 */
async function examplesOf({ example, callers, engine }: RouteContext): Promise<BodyExamples> {
  const call = callers === "open" ? await example?.().catch(() => undefined) : undefined;
  if (!call) return {};
  const { tool, operation, input } = call;
  return {
    invokeTool: () => ({ tool_id: tool, ...(operation !== undefined && { operation }), parameters: input }),
    sendMessage: (usual) => {
      if (!isJsonObject(usual) || !isJsonObject(usual.payload)) return usual;
      const [only = ""] = Object.keys(
        engine.tools.definitions().find(({ id }) => id === tool)?.operations ?? {},
      );
      const named = { id: tool, capability: operation ?? only, parameters: input };
      return { ...usual, payload: { ...usual.payload, tool: named } };
    },
  };
}

function page(type: string, content: string): Reply {
  return { status: 200, headers: { "content-type": type, "cache-control": "no-cache" }, content };
}

function once(make: () => string): () => string {
  let made: string | undefined;
  return () => {
    made ??= make();
    return made;
  };
}
