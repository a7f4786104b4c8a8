import { VERSION } from "../../version.ts";
import type { Route } from "../route.ts";
import { doorRoutes } from "../routes/index.ts";
import { openApiDocument } from "./document.ts";
import { HOLLOW_PARTS } from "./hollow-parts.ts";

/** The text of docs/openapi.json; `more` are routes of other rooms that the door has, such as those of sessions. */
export function renderOpenApiDocument(more: readonly Route[] = []): string {
  const document = openApiDocument(doorRoutes(HOLLOW_PARTS, more), { version: VERSION });
  return `${JSON.stringify(document, null, 2)}\n`;
}
