import type { ModelWindow } from "@sallyport/loop";
import { isFailure } from "@sallyport/protocol";
import { type FoundModel, findModel } from "./model-reference.ts";
import type { ModelSettings, Providers } from "./provider-settings.ts";

const RESERVE_TOKENS = 4_096;
/** Every Claude model that Anthropic serves takes at least this much. */
const CLAUDE_CONTEXT_TOKENS = 200_000;

/** The room a model has for a conversation. One that nothing is known of has a window without `contextTokens`. */
export function modelWindow(reference: string, providers: Providers): ModelWindow {
  const found = findModel(reference, providers);
  if (isFailure(found)) return { responseReserveTokens: RESERVE_TOKENS };
  const contextTokens = contextOf(found);
  const reserve = settingsOf(found).maxOutputTokens ?? RESERVE_TOKENS;
  return { responseReserveTokens: reserve, ...(contextTokens !== undefined && { contextTokens }) };
}

/** What the configuration says of this one model; empty when it says nothing. */
export function settingsOf({ settings, model }: FoundModel): ModelSettings {
  const { models = {} } = settings;
  return (Object.hasOwn(models, model) ? models[model] : undefined) ?? {};
}

function contextOf(found: FoundModel): number | undefined {
  const { settings, model } = found;
  const said = settingsOf(found).contextTokens ?? settings.contextTokens;
  const isClaude =
    settings.kind === "anthropic" && settings.baseUrl === undefined && model.startsWith("claude-");
  return said ?? (isClaude ? CLAUDE_CONTEXT_TOKENS : undefined);
}
