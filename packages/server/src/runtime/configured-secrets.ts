import { readFileSync, statSync } from "node:fs";
import { resolve } from "node:path";
import type { SecretSource } from "@sallyport/engine/ports";
import { failure, SallyportError } from "@sallyport/protocol";
import type { LoadedConfig } from "../config/load.ts";

/** The secrets that the configuration refers to, read anew each time and kept nowhere. */
export function configuredSecrets(config: LoadedConfig): SecretSource {
  return {
    get: async (name) => {
      const reference = config.credentials[name]?.secret;
      return reference && readSecret(reference, config.folder);
    },
  };
}

/** A variable or a file, as the configuration names it. */
export type SecretReference = LoadedConfig["credentials"][string]["secret"];

/** What a reference leads to; undefined for a variable that is not set. Throws E3301 for a file that cannot be used. */
export function readSecret(reference: SecretReference, folder: string): string | undefined {
  if ("env" in reference) return process.env[reference.env];
  return privateFile(resolve(folder, reference.file));
}

/** Where a reference leads, as the beginning of a sentence. */
export function secretPlace(reference: SecretReference): string {
  return "env" in reference ? `The variable ${reference.env}` : `The file ${reference.file}`;
}

/** The same as `readSecret`; throws E3301, with who needs it, when it is empty or not set. */
export function requireSecret(
  reference: SecretReference,
  { folder, need }: { folder: string; need: string },
): string {
  const secret = readSecret(reference, folder);
  if (secret) return secret;
  const message = `${secretPlace(reference)}, which ${need}, holds no secret.`;
  throw new SallyportError(failure("E3301", { message, advice: "Put the credential there." }));
}

function privateFile(file: string): string {
  try {
    if ((statSync(file).mode & 0o077) !== 0) throw new Error(`others can read it; run: chmod 600 ${file}`);
    return readFileSync(file, "utf8").trimEnd();
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new SallyportError(failure("E3301", { message: `The secret in ${file} cannot be used: ${why}.` }));
  }
}
