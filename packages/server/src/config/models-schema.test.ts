import { PROVIDER_KINDS } from "@sallyport/adapters/models";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { modelKeys } from "./models-schema.ts";

const schema = z.strictObject(modelKeys);

describe("the models of a configuration", () => {
  it("need not be there", () => {
    expect(schema.parse({})).toEqual({ models: { providers: {} } });
  });

  it("may be described with address, key and room", () => {
    const lab = {
      kind: "openai-compatible",
      baseUrl: "http://127.0.0.1:8000/v1",
      apiKey: { env: "LAB_KEY" },
      headers: { "x-team": "red", "api-key": { file: "gate.key" } },
      models: { "org/large:8b": { contextTokens: 32_000, maxOutputTokens: 2_000 } },
    };
    const models = { default: "lab/org/large:8b", providers: { lab } };
    expect(schema.parse({ models })).toEqual({ models });
  });

  it.each(PROVIDER_KINDS)("may be of the kind %s", (kind) => {
    expect(schema.safeParse({ models: { providers: { lab: { kind } } } }).success).toBe(true);
  });

  it.each([
    ["a key in plain text", { kind: "openai", apiKey: "sk" }],
    ["an unknown kind", { kind: "other" }],
    ["an address that is no web address", { kind: "openai", baseUrl: "file:///etc" }],
    ["a header that is none", { kind: "openai", headers: { "a b": "c" } }],
    ["an unknown setting", { kind: "openai", key: "x" }],
    ["no room at all", { kind: "openai", contextTokens: 0 }],
  ])("are refused with %s", (_what, lab) => {
    expect(schema.safeParse({ models: { providers: { lab } } }).success).toBe(false);
  });

  it.each(["gpt", "/gpt", "openai/", "a b/c"])("have no default called %j", (name) => {
    expect(schema.safeParse({ models: { default: name } }).success).toBe(false);
  });
});
