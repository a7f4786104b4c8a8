import { describe, expect, it } from "vitest";
import { modelWindow } from "./model-window.ts";

const PROVIDERS = {
  lab: {
    kind: "openai-compatible",
    baseUrl: "http://127.0.0.1:1/v1",
    contextTokens: 8_000,
    models: { "org/large": { contextTokens: 32_000, maxOutputTokens: 2_000 }, small: {} },
  },
  relay: { kind: "anthropic", baseUrl: "https://relay.example/v1" },
} as const;

describe("what is known of a model's context", () => {
  it("is what the model's own settings say, then the provider's [FR-REG-04]", () => {
    expect(modelWindow("lab/org/large", PROVIDERS)).toEqual({
      contextTokens: 32_000,
      responseReserveTokens: 2_000,
    });
    expect(modelWindow("lab/small", PROVIDERS)).toEqual({
      contextTokens: 8_000,
      responseReserveTokens: 4_096,
    });
    expect(modelWindow("lab/constructor", PROVIDERS)).toEqual({
      contextTokens: 8_000,
      responseReserveTokens: 4_096,
    });
  });

  it("is known of Claude at Anthropic's own address, and of nothing else [FR-REG-04]", () => {
    expect(modelWindow("anthropic/claude-sonnet-4-5", {}).contextTokens).toBe(200_000);
    for (const other of ["relay/claude-sonnet-4-5", "openai/gpt-5", "ollama/qwen3", "nobody/x", "x"]) {
      expect(modelWindow(other, PROVIDERS)).toEqual({ responseReserveTokens: 4_096 });
    }
  });
});
