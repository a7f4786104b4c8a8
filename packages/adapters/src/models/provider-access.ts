import { type Failure, failure, isFailure } from "@sallyport/protocol";
import { KIND_DEFAULTS } from "./built-in-providers.ts";
import type { FoundModel } from "./model-reference.ts";
import type { SecretReference } from "./provider-settings.ts";

/** Where keys come from. Nothing here reads the process's own environment. */
export interface KeySources {
  environment: Readonly<Record<string, string | undefined>>;
  /** What a reference of the configuration leads to; undefined when it is not set. */
  secret(reference: SecretReference): string | Failure | undefined;
}

/** All that is needed to speak to a provider. */
export interface ProviderAccess {
  baseUrl: string;
  /** Empty: it is asked without a key. */
  apiKey: string;
  headers: Record<string, string>;
  /** Everything in here that must never be shown. */
  secrets: readonly string[];
}

/** A header carries visible ASCII; anything else would end up in an error that shows it. */
const KEY_TEXT = /^[\x21-\x7e]+$/;
const HEADER_TEXT = /^[\x20-\x7e]+$/;
const HEADER_NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

/** Puts together address, key and headers. E3919 names what is missing and what to set; it never shows a key. */
export function accessOf(found: FoundModel, sources: KeySources): ProviderAccess | Failure {
  const baseUrl = addressOf(found);
  if (typeof baseUrl !== "string") return baseUrl;
  const apiKey = keyOf(found, sources);
  if (typeof apiKey !== "string") return apiKey;
  const headers = headersOf(found, sources);
  if (isFailure(headers)) return headers;
  const secrets = [apiKey, ...headers.secrets].filter((secret) => secret !== "");
  return { baseUrl, apiKey, headers: headers.named, secrets };
}

function addressOf({ provider, settings }: FoundModel): string | Failure {
  const given = settings.baseUrl ?? KIND_DEFAULTS[settings.kind]?.baseUrl;
  const key = `models.providers.${provider}.baseUrl`;
  if (given === undefined) {
    return wrong(`Provider ${provider} has no address.`, `Set ${key}, such as http://127.0.0.1:8000/v1.`);
  }
  const url = URL.parse(given);
  const isWeb = url?.protocol === "http:" || url?.protocol === "https:";
  if (!url || !isWeb || url.username || url.password || url.search || url.hash) {
    const advice = `Set ${key} to an http or https address without user, query and fragment; a key goes to apiKey.`;
    return wrong(`The address of provider ${provider} cannot be used.`, advice);
  }
  return given.replace(/\/+$/, "");
}

/** The usual variable's key is for the usual address only: another address never gets it. */
function keyOf({ provider, settings }: FoundModel, sources: KeySources): string | Failure {
  const usual = KIND_DEFAULTS[settings.kind];
  const key = `models.providers.${provider}.apiKey`;
  if (settings.apiKey) return secretAt({ reference: settings.apiKey, key, pattern: KEY_TEXT }, sources);
  if (!usual || settings.baseUrl !== undefined) return "";
  const { keyVariable } = usual;
  const value = sources.environment[keyVariable]?.trim();
  if (!value) {
    return wrong(
      `There is no key for provider ${provider}.`,
      `Set ${keyVariable}, or ${key} in the configuration.`,
    );
  }
  return KEY_TEXT.test(value) ? value : unusable(keyVariable);
}

interface WantedSecret {
  reference: SecretReference;
  /** The setting it belongs to. */
  key: string;
  pattern: RegExp;
}

function secretAt({ reference, key, pattern }: WantedSecret, sources: KeySources): string | Failure {
  const found = sources.secret(reference);
  if (typeof found === "object") return found;
  const value = found?.trim();
  const place = "env" in reference ? `the variable ${reference.env}` : `the file ${reference.file}`;
  if (!value) return wrong(`The secret of ${key} is not set.`, `Set ${place}.`);
  return pattern.test(value) ? value : unusable(place);
}

function headersOf({ provider, settings }: FoundModel, sources: KeySources) {
  const named: Record<string, string> = {};
  const secrets: string[] = [];
  for (const [name, value] of Object.entries(settings.headers ?? {})) {
    const key = `models.providers.${provider}.headers.${name}`;
    const isSecret = typeof value !== "string";
    const text = isSecret ? secretAt({ reference: value, key, pattern: HEADER_TEXT }, sources) : value;
    if (typeof text !== "string") return text;
    if (!HEADER_NAME.test(name) || !HEADER_TEXT.test(text)) return unusable(key);
    if (isSecret) secrets.push(text);
    named[name] = text;
  }
  return { named, secrets };
}

function unusable(place: string): Failure {
  return wrong(`What is in ${place} cannot be sent in a header.`, "Use visible ASCII characters only.");
}

function wrong(message: string, advice: string): Failure {
  return failure("E3919", { message, advice });
}
