import { reloadRoutes } from "../../reload/reload-routes.ts";
import { VERSION } from "../../version.ts";
import { SessionBook, sessionRoutes } from "../guard/index.ts";
import type { Route } from "../route.ts";
import { doorRoutes } from "../routes/index.ts";
import { openApiDocument } from "./document.ts";
import { HOLLOW_PARTS } from "./hollow-parts.ts";

/** The text of docs/openapi.json: every route the door has, those of other rooms included. */
export function renderOpenApiDocument(): string {
  const more: Route[] = [
    ...sessionRoutes({ sessions: new SessionBook(), tls: false }),
    ...reloadRoutes(() => Promise.reject(new Error("These routes are only for describing."))),
  ];
  const document = openApiDocument(doorRoutes(HOLLOW_PARTS, more), { version: VERSION });
  return `${JSON.stringify(document, null, 2)}\n`;
}
