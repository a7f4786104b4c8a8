import type { ProviderKind, Providers } from "./provider-settings.ts";

/** Providers that need no configuration. One that is configured under the same name takes its place. */
export const BUILT_IN_PROVIDERS: Providers = {
  anthropic: { kind: "anthropic" },
  openai: { kind: "openai" },
  ollama: { kind: "openai-compatible", baseUrl: "http://127.0.0.1:11434/v1" },
};

/** The address a kind of provider has of its own, and the variable its key is usually in. */
export interface KindDefaults {
  baseUrl: string;
  keyVariable: string;
}

/** Undefined for a kind that is spoken in many places. */
export const KIND_DEFAULTS: Readonly<Record<ProviderKind, KindDefaults | undefined>> = {
  anthropic: { baseUrl: "https://api.anthropic.com/v1", keyVariable: "ANTHROPIC_API_KEY" },
  openai: { baseUrl: "https://api.openai.com/v1", keyVariable: "OPENAI_API_KEY" },
  "openai-compatible": undefined,
};
