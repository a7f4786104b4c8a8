import { openApiDocument } from "../openapi/document.ts";
import { errorsPage } from "../openapi/errors-page.ts";
import { operationsPage } from "../openapi/operations-page.ts";
import { defineRoute, type Reply, type Route } from "../route.ts";
import type { DoorParts } from "./parts.ts";

const HTML = "text/html; charset=utf-8";

/** `/openapi.json` and `/docs`: the door's description of itself, made of the routes it has. */
export function descriptionRoutes({ version }: DoorParts, routes: () => readonly Route[]): Route[] {
  const document = once(() => JSON.stringify(openApiDocument(routes(), { version })));
  const errors = once(errorsPage);
  return [
    defineRoute({
      id: "getOpenApi",
      method: "GET",
      path: "/openapi.json",
      tag: "House",
      summary: "This API in OpenAPI 3.1",
      access: "public",
      answers: { 200: { description: "The document.", content: "application/json" } },
      handle: () => page("application/json; charset=utf-8", document()),
    }),
    defineRoute({
      id: "readDocs",
      method: "GET",
      path: "/docs",
      tag: "House",
      summary: "This API as a page to read",
      access: "public",
      answers: { 200: { description: "The page.", content: "text/html" } },
      handle: ({ origin }) => page(HTML, operationsPage(routes(), { origin, version })),
    }),
    defineRoute({
      id: "readErrors",
      method: "GET",
      path: "/docs/errors",
      tag: "House",
      summary: "Every error code as a page to read",
      access: "public",
      answers: { 200: { description: "The page.", content: "text/html" } },
      handle: () => page(HTML, errors()),
    }),
  ];
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
