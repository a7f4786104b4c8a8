import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import type { LanguageModelV4 } from "@ai-sdk/provider";
import { type Failure, isFailure } from "@sallyport/protocol";
import { guardedFetch } from "./guarded-fetch.ts";
import { type FoundModel, findModel } from "./model-reference.ts";
import { settingsOf } from "./model-window.ts";
import { accessOf, type KeySources, type ProviderAccess } from "./provider-access.ts";
import type { Providers } from "./provider-settings.ts";

const IDLE_SECONDS = 240;
const SECOND_MS = 1_000;

export interface OpenModelOptions extends KeySources {
  /** As configured; built-in ones need not be among them. */
  providers: Providers;
  fetch?: typeof fetch;
}

/** The model of `provider/model`. Connects to nothing yet. E3919 when the provider is unknown or its key is missing. */
export function openModel(reference: string, options: OpenModelOptions): LanguageModelV4 | Failure {
  const found = findModel(reference, options.providers);
  if (isFailure(found)) return found;
  const access = accessOf(found, options);
  if (isFailure(access)) return access;
  const { maxOutputTokens } = settingsOf(found);
  const model = modelOf(found, { access, fetch: options.fetch ?? globalThis.fetch });
  return maxOutputTokens === undefined ? model : withMaxOutput(model, maxOutputTokens);
}

interface Way {
  access: ProviderAccess;
  fetch: typeof fetch;
}

/** Address and key are always given: left out, the SDK would look for them in the process's environment. */
function modelOf({ provider, model, settings }: FoundModel, { access, fetch }: Way): LanguageModelV4 {
  const { baseUrl: baseURL, apiKey, headers, secrets } = access;
  const idleMs = (settings.idleSeconds ?? IDLE_SECONDS) * SECOND_MS;
  const common = { baseURL, apiKey, headers, fetch: guardedFetch({ fetch, idleMs, secrets }) };
  switch (settings.kind) {
    case "anthropic":
      return createAnthropic(common).languageModel(model);
    case "openai":
      // Chat Completions: everything is in the request, so nothing of a conversation has to be kept at the provider.
      return createOpenAI(common).chat(model);
    case "openai-compatible":
      return createOpenAICompatible({ ...common, name: provider, includeUsage: true }).chatModel(model);
  }
}

/** The same model, which is told how much it may answer wherever the caller does not say. */
function withMaxOutput(model: LanguageModelV4, maxOutputTokens: number): LanguageModelV4 {
  return {
    specificationVersion: model.specificationVersion,
    provider: model.provider,
    modelId: model.modelId,
    supportedUrls: model.supportedUrls,
    doGenerate: (options) => model.doGenerate({ maxOutputTokens, ...options }),
    doStream: (options) => model.doStream({ maxOutputTokens, ...options }),
  };
}
