import { type Failure, failure, isFailure, nearestName } from "@sallyport/protocol";
import { BUILT_IN_PROVIDERS } from "./built-in-providers.ts";
import type { ProviderSettings, Providers } from "./provider-settings.ts";

const SHOWN_CHARS = 80;

/** `provider/model`, taken apart. */
export interface ModelReference {
  provider: string;
  model: string;
}

/** A model and the provider that has it. */
export interface FoundModel extends ModelReference {
  settings: ProviderSettings;
}

/** Takes a reference apart at its first `/`: a model's own name may hold more of them, and `:`. E3919 when a part is missing. */
export function parseModelReference(reference: string): ModelReference | Failure {
  const slash = reference.indexOf("/");
  const provider = reference.slice(0, Math.max(slash, 0));
  const model = reference.slice(slash + 1);
  if (provider !== "" && model.trim() !== "") return { provider, model };
  return failure("E3919", {
    message: `"${shown(reference)}" does not name a model.`,
    advice: "Name it as provider/model, such as anthropic/claude-sonnet-4-5 or ollama/qwen3:8b.",
  });
}

/** The provider a reference names, configured or built in. E3919 with the nearest name when there is none. */
export function findModel(reference: string, providers: Providers): FoundModel | Failure {
  const parsed = parseModelReference(reference);
  if (isFailure(parsed)) return parsed;
  const settings = providerNamed(parsed.provider, providers);
  return settings ? { ...parsed, settings } : unknownProvider(parsed.provider, providers);
}

/** A configured provider that says no address takes the one of the built-in provider of its name and kind. */
function providerNamed(name: string, providers: Providers): ProviderSettings | undefined {
  const builtIn = own(BUILT_IN_PROVIDERS, name);
  const configured = own(providers, name);
  if (!configured || configured.kind !== builtIn?.kind || configured.baseUrl !== undefined) {
    return configured ?? builtIn;
  }
  return { ...configured, baseUrl: builtIn.baseUrl };
}

/** Names come from people: `constructor` is not a provider. */
function own(providers: Providers, name: string): ProviderSettings | undefined {
  return Object.hasOwn(providers, name) ? providers[name] : undefined;
}

function unknownProvider(name: string, providers: Providers): Failure {
  const known = [...new Set([...Object.keys(providers), ...Object.keys(BUILT_IN_PROVIDERS)])];
  const nearest = nearestName(name, known);
  const guess = nearest ? ` Did you mean ${nearest}?` : "";
  return failure("E3919", {
    message: `There is no provider of models named "${shown(name)}".${guess}`,
    advice: `Use one of ${known.join(", ")}, or describe it under models.providers in the configuration.`,
  });
}

function shown(text: string): string {
  const line = text.replace(/\p{Cc}/gu, " ");
  return line.length > SHOWN_CHARS ? `${line.slice(0, SHOWN_CHARS)}…` : line;
}
