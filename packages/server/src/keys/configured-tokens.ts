import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { DEFAULT_TOKEN_RULES, type KeySet, type TokenRules } from "@sallyport/engine";
import { type Failure, isFailure } from "@sallyport/protocol";
import type { LoadedConfig } from "../config/load.ts";
import { requireReadable } from "../runtime/own-folder.ts";
import { KEY_FILES, keyFilesIn, keyFolder } from "./key-files.ts";
import { tokenKeys } from "./outside-keys.ts";
import { loadKeys } from "./signing-keys.ts";

/** What the configuration expects of every token. */
export function tokenRulesOf({ tokens }: LoadedConfig): TokenRules {
  return {
    ...DEFAULT_TOKEN_RULES,
    issuers: tokens.issuers,
    skewMs: tokens.skewSeconds * 1_000,
    maxLifeMs: tokens.maxLifeSeconds * 1_000,
  };
}

/**
 * The keys tokens are checked with: the server's own, if it has made any, and those of the issuers in the configuration.
 * Undefined when there are none of either; E3227 when there are some that cannot be used.
 */
export function configuredKeys({ tokens, stateFolder, folder }: LoadedConfig): KeySet | Failure | undefined {
  const { issuers, jwks, publicKeys } = tokens;
  const keysIn = keyFolder(stateFolder);
  requireReadable(stateFolder);
  const runtime = existsSync(join(keysIn, KEY_FILES.current)) ? loadKeys(keysIn) : undefined;
  if (runtime && isFailure(runtime)) return runtime;
  if (!runtime && jwks === undefined && publicKeys.length === 0) return undefined;
  const outside = {
    issuers,
    publicKeys: publicKeys.map((file) => resolve(folder, file)),
    ...(jwks !== undefined && { jwks: resolve(folder, jwks) }),
  };
  return tokenKeys(outside, runtime?.public);
}

/** The files those keys come from. */
export function configuredKeyFiles({ tokens, stateFolder, folder }: LoadedConfig): string[] {
  const outside = [...tokens.publicKeys, ...(tokens.jwks === undefined ? [] : [tokens.jwks])];
  return [...keyFilesIn(keyFolder(stateFolder)), ...outside.map((file) => resolve(folder, file))];
}
