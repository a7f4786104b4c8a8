import { isFailure } from "@sallyport/protocol";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { findModel, parseModelReference } from "./model-reference.ts";

describe("a model's name", () => {
  it("is split at its first slash only", () => {
    expect(parseModelReference("hub/org/model:8b-q4")).toEqual({ provider: "hub", model: "org/model:8b-q4" });
  });

  it("comes back whole from its parts, whatever the model is called", () => {
    const provider = fc.stringMatching(/^[a-z][a-z0-9-]{0,20}$/);
    const model = fc.string({ minLength: 1 }).filter((text) => text.trim() !== "");
    fc.assert(
      fc.property(provider, model, (name, rest) => {
        expect(parseModelReference(`${name}/${rest}`)).toEqual({ provider: name, model: rest });
      }),
    );
  });

  it.each(["", "/", "gpt", "/gpt", "openai/", "openai/ "])(
    "is refused when a part is missing: %j",
    (given) => {
      expect(parseModelReference(given)).toMatchObject({
        code: "E3919",
        advice: expect.stringContaining("provider/model"),
      });
    },
  );

  it("names the nearest provider when there is none of that name", () => {
    const found = findModel("antropic/claude", { lab: { kind: "openai-compatible" } });
    expect(found).toMatchObject({
      code: "E3919",
      message: expect.stringContaining("Did you mean anthropic?"),
    });
    expect(found).toMatchObject({ advice: expect.stringContaining("lab, anthropic, openai, ollama") });
  });

  it("finds nothing under names that every object has", () => {
    for (const name of ["constructor", "__proto__", "toString"]) {
      expect(isFailure(findModel(`${name}/m`, {}))).toBe(true);
    }
  });

  it("keeps the built-in address when a built-in provider is configured without one", () => {
    const found = findModel("ollama/qwen3:8b", { ollama: { kind: "openai-compatible", contextTokens: 9 } });
    expect(found).toMatchObject({
      model: "qwen3:8b",
      settings: { baseUrl: "http://127.0.0.1:11434/v1", contextTokens: 9 },
    });
  });
});
