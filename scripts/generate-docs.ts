import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { eventSchemas } from "../packages/engine/src/publish/event-schemas.ts";
import { DOMAIN_MANIFEST_SCHEMA, DOMAIN_POLICIES_SCHEMA } from "../packages/protocol/src/index.ts";
import { configJsonSchema, renderConfigDoc } from "../packages/server/src/config/config-doc.ts";
import { renderOpenApiDocument } from "../packages/server/src/http/openapi/render-document.ts";
import { renderErrorsDoc } from "./errors-doc.ts";

/** Documents that are written from the code. With `--check` nothing is written, and a difference fails. */
const DOCUMENTS: Record<string, () => string> = {
  "docs/errors.md": renderErrorsDoc,
  "docs/configuration.md": renderConfigDoc,
  "docs/openapi.json": renderOpenApiDocument,
  "docs/domain-manifest.schema.json": () => `${JSON.stringify(DOMAIN_MANIFEST_SCHEMA, null, 2)}\n`,
  "docs/domain-policies.schema.json": () => `${JSON.stringify(DOMAIN_POLICIES_SCHEMA, null, 2)}\n`,
  "docs/events.schema.json": () => `${JSON.stringify(eventSchemas(), null, 2)}\n`,
  "docs/sallyport.schema.json": () => `${JSON.stringify(configJsonSchema(), null, 2)}\n`,
};

const check = process.argv.includes("--check");
const stale: string[] = [];
for (const [name, render] of Object.entries(DOCUMENTS)) {
  const file = new URL(`../${name}`, import.meta.url);
  const wanted = render();
  if (existsSync(file) && readFileSync(file, "utf8") === wanted) continue;
  if (check) stale.push(name);
  else writeFileSync(file, wanted);
}
if (stale.length > 0) {
  console.error(`${stale.join(", ")} no longer match(es) the code; run: npm run docs`);
  process.exitCode = 1;
}
