import type { LanguageModelV4 } from "@ai-sdk/provider";

/** The same model, which is told how much it may answer wherever the caller does not say. */
export function withMaxOutput(model: LanguageModelV4, maxOutputTokens: number): LanguageModelV4 {
  return {
    specificationVersion: model.specificationVersion,
    provider: model.provider,
    modelId: model.modelId,
    supportedUrls: model.supportedUrls,
    doGenerate: (options) => model.doGenerate({ maxOutputTokens, ...options }),
    doStream: (options) => model.doStream({ maxOutputTokens, ...options }),
  };
}
