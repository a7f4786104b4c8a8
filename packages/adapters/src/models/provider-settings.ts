/** How a provider is spoken to. */
export const PROVIDER_KINDS = ["anthropic", "openai", "openai-compatible"] as const;
export type ProviderKind = (typeof PROVIDER_KINDS)[number];

/** Where a secret is: an environment variable, or a file that only its owner can read. */
export type SecretReference = { env: string } | { file: string };

/** What is known of one model; what is left out is not known. */
export interface ModelSettings {
  contextTokens?: number | undefined;
  maxOutputTokens?: number | undefined;
}

/** A provider of models as the configuration describes it. */
export interface ProviderSettings {
  kind: ProviderKind;
  /** Where its API starts, such as `http://127.0.0.1:11434/v1`. Needed by `openai-compatible`. */
  baseUrl?: string | undefined;
  apiKey?: SecretReference | undefined;
  headers?: Readonly<Record<string, string | SecretReference>> | undefined;
  /** Context of its models that are not listed. */
  contextTokens?: number | undefined;
  models?: Readonly<Record<string, ModelSettings>> | undefined;
  /** How long it may send nothing at all. */
  idleSeconds?: number | undefined;
}

/** Providers by name. */
export type Providers = Readonly<Record<string, ProviderSettings>>;
