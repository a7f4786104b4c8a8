import { createMemoryStore } from "@sallyport/engine";
import { reloadRoutes } from "../../reload/reload-routes.ts";
import { VERSION } from "../../version.ts";
import { SessionBook, sessionRoutes } from "../guard/index.ts";
import type { Route } from "../route.ts";
import { doorRoutes } from "../routes/index.ts";
import { openApiDocument } from "./document.ts";
import { HOLLOW_PARTS } from "./hollow-parts.ts";

/** Every route the door has, those of other modules included; only for describing them. */
export function describedRoutes(): Route[] {
  return doorRoutes(HOLLOW_PARTS, [
    ...sessionRoutes({ sessions: new SessionBook(createMemoryStore()), tls: false }),
    ...reloadRoutes(() => Promise.reject(new Error("These routes are only for describing."))),
  ]);
}

/** The text of docs/openapi.json. */
export function renderOpenApiDocument(): string {
  return `${JSON.stringify(openApiDocument(describedRoutes(), { version: VERSION }), null, 2)}\n`;
}
