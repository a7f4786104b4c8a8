import { invocationEventFields, type JsonObject } from "@sallyport/protocol";
import type { Route } from "../route.ts";
import { Components } from "./components.ts";
import { operationOf } from "./operation.ts";
import { SECURITY_SCHEMES } from "./security.ts";

const DESCRIPTION =
  "Runs tool calls for AI agents: every call is checked, isolated, recorded and, where it fails, undone. A readable form of this document is at /docs, every error code at /docs/errors.";

/** What the groups of routes are about. */
export const TAGS: Readonly<Record<string, string>> = {
  Tools: "Find tools and run them.",
  Invocations: "How calls stand, what came of them, and ending them.",
  Approvals: "Questions to people about calls, and their answers.",
  Grants: "What is allowed beforehand.",
  Audit: "The record that cannot be changed unseen.",
  Tokens: "Capability tokens.",
  Sessions: "Operators' sessions.",
  Messages: "The MCX envelope.",
  Server: "For whoever watches over the process.",
};

/** The OpenAPI 3.1 document of these routes. The same routes always give the same document. */
export function openApiDocument(routes: readonly Route[], { version }: { version: string }): JsonObject {
  const components = new Components();
  const paths = pathsOf(routes, components);
  // Nobody answers with these as JSON, yet whoever reads a stream of events has to know them.
  for (const field of Object.values(invocationEventFields)) components.use(field.schema);
  return {
    openapi: "3.1.1",
    info: {
      title: "Sallyport",
      version,
      description: DESCRIPTION,
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    servers: [{ url: "/" }],
    tags: tagsOf(routes),
    paths,
    components: { schemas: components.all(), securitySchemes: SECURITY_SCHEMES },
  };
}

function pathsOf(routes: readonly Route[], components: Components): JsonObject {
  const paths: Record<string, JsonObject> = {};
  for (const route of routes) {
    const known = paths[route.path] ?? {};
    paths[route.path] = { ...known, [route.method.toLowerCase()]: operationOf(route, components) };
  }
  return paths;
}

/** The groups there are, in the order of their routes. */
export function tagsOf(routes: readonly Route[]): { name: string; description: string }[] {
  const names = [...new Set(routes.map(({ tag }) => tag))];
  return names.map((name) => ({ name, description: TAGS[name] ?? name }));
}
