export { BUILT_IN_PROVIDERS } from "./built-in-providers.ts";
export { modelFailure } from "./model-failure.ts";
export { type ModelReference, parseModelReference } from "./model-reference.ts";
export { modelWindow } from "./model-window.ts";
export type { ModelPart } from "./one-try.ts";
export { type OpenModelOptions, openModel } from "./open-model.ts";
export {
  type ModelSettings,
  PROVIDER_KINDS,
  type ProviderKind,
  type ProviderSettings,
  type Providers,
  type SecretReference,
} from "./provider-settings.ts";
export { type StreamRetries, startStream } from "./start-stream.ts";
