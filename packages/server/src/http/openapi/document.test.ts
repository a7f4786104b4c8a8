import { isJsonObject, type JsonObject, type JsonValue, named, oneOf, text } from "@sallyport/protocol";
import { Validator } from "@seriousme/openapi-schema-validator";
import { describe, expect, it } from "vitest";
import { defineRoute } from "../route.ts";
import { doorRoutes } from "../routes/index.ts";
import { openApiDocument } from "./document.ts";
import { HOLLOW_PARTS } from "./hollow-parts.ts";
import { renderOpenApiDocument } from "./render-document.ts";

const routes = doorRoutes(HOLLOW_PARTS);
const document = openApiDocument(routes, { version: "1.2.3" });

/** Every value under a key, wherever it stands. */
function under(key: string, value: JsonValue): JsonValue[] {
  if (Array.isArray(value)) return value.flatMap((one) => under(key, one));
  if (!isJsonObject(value)) return [];
  return Object.entries(value).flatMap(([name, part]) => [
    ...(name === key ? [part] : []),
    ...under(key, part),
  ]);
}

function at(value: JsonValue, ...keys: string[]): JsonValue | undefined {
  return keys.reduce<JsonValue | undefined>(
    (part, key) => (isJsonObject(part) ? part[key] : undefined),
    value,
  );
}

describe("openApiDocument", () => {
  it("is valid OpenAPI 3.1 [L3-API-1]", async () => {
    const { valid, errors } = await new Validator().validate(structuredClone(document));
    expect(errors ?? []).toEqual([]);
    expect(valid).toBe(true);
  });

  it("has every route once, under its id", () => {
    const ids = under("operationId", document.paths ?? {});
    expect(ids).toEqual(expect.arrayContaining(routes.map(({ id }) => id)));
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids).toHaveLength(routes.length);
    expect(new Set(routes.map(({ method, path }) => `${method} ${path}`)).size).toBe(routes.length);
  });

  it("refers only to shapes that are there, and shows each once", () => {
    const schemas = at(document, "components", "schemas");
    const names = Object.keys(Object(schemas));
    const wanted = under("$ref", document).map((ref) => String(ref).replace("#/components/schemas/", ""));
    expect(names).toEqual(expect.arrayContaining([...new Set(wanted)]));
    const titles = under("title", document.components ?? {}).filter((title) => typeof title === "string");
    expect(titles).toEqual([]);
  });

  it("keeps the names of the specifications [L3-API-1] [L3-API-2] [AX-CAT-1]", () => {
    const properties = (name: string) =>
      Object.keys(Object(at(document, "components", "schemas", name, "properties")));
    expect(properties("ToolInvokeResponse")).toEqual([
      "invocation_id",
      "status",
      "result",
      "error",
      "execution_metadata",
      "checkpoint_ref",
      "polling_info",
    ]);
    expect(properties("ToolSummary")).toEqual([
      "tool_id",
      "tool_name",
      "description",
      "category",
      "versions",
      "latest_version",
      "tags",
      "requires_approval",
      // What the catalogue of a gateway has besides (AX-CAT-1).
      ...["kind", "display_name", "capabilities", "timeout_sec", "egress_allowlist", "transport_type"],
      ...["transport_endpoint", "input_schema_ref", "output_schema_ref", "health"],
    ]);
    expect(properties("ToolStatusResponse")).toEqual(
      expect.arrayContaining([
        "invocation_id",
        "status",
        "progress_percent",
        "current_phase",
        "error",
        "latest_checkpoint",
      ]),
    );
    expect(properties("ToolCancelResponse")).toEqual(
      expect.arrayContaining(["invocation_id", "cancelled", "message"]),
    );
  });

  it("writes snake_case everywhere but in envelopes that are others'", () => {
    const schemas = Object.entries(Object(at(document, "components", "schemas")) as JsonObject);
    const own = schemas.filter(([name]) => !name.startsWith("Mcx"));
    const names = own.flatMap(([, schema]) =>
      under("properties", schema).flatMap((one) => Object.keys(Object(one))),
    );
    expect(names.filter((name) => !/^[a-z][a-z0-9_]*$/.test(name))).toEqual([]);
  });

  it("says for every route who may use it, and that it may answer with a problem", () => {
    for (const operation of Object.values(Object(document.paths)).flatMap((path) =>
      Object.values(Object(path)),
    )) {
      const plain = operation as JsonObject;
      expect(Array.isArray(plain.security)).toBe(true);
      expect(at(plain, "responses", "default", "content", "application/problem+json", "schema", "$ref")).toBe(
        "#/components/schemas/Problem",
      );
    }
    expect(at(document, "paths", "/v1/audit", "get", "security")).toEqual([
      { operatorKey: [] },
      { operatorSession: [] },
    ]);
  });

  it("describes a list in the query as words with commas", () => {
    const parameters = at(document, "paths", "/v1/tools", "get", "parameters") as JsonObject[];
    expect(parameters.find(({ name }) => name === "tags")).toMatchObject({ style: "form", explode: false });
    expect(parameters.find(({ name }) => name === "page_size")).toMatchObject({
      in: "query",
      schema: { type: "integer", minimum: 1, maximum: 200 },
    });
  });

  it("refuses two different shapes of one name", () => {
    const route = (id: string, word: string) =>
      defineRoute({
        ...{ id, method: "GET", path: `/${id}`, tag: "Tools", summary: id, access: "public" },
        answers: { 200: { description: "", schema: named("Same", oneOf([word])) } },
        handle: () => ({ status: 200 }),
      });
    expect(() => openApiDocument([route("a", "x"), route("b", "y")], { version: "1" })).toThrow("named Same");
    expect(() => openApiDocument([route("a", "x"), route("b", "x")], { version: "1" })).not.toThrow();
    expect(text.schema.title).toBeUndefined();
  });

  it("is the same each time", () => {
    expect(renderOpenApiDocument()).toBe(renderOpenApiDocument());
    expect(renderOpenApiDocument().endsWith("}\n")).toBe(true);
  });
});
