import type { Store } from "@sallyport/engine/ports";
import { type Failure, isFailure, SallyportError } from "@sallyport/protocol";
import type { LoadedConfig } from "../config/load.ts";
import { readSecret, secretPlace } from "../runtime/configured-secrets.ts";
import { keyFolder, keyTrouble } from "./key-files.ts";
import { type Sealing, sealingWith } from "./key-sealing.ts";
import type { KeySharing } from "./shared-keys.ts";

/** How the processes of a configuration share keys; undefined where the store is this process's own. Throws E3227. */
export function keySharingOf(
  config: Pick<LoadedConfig, "store" | "folder" | "stateFolder">,
  store: Pick<Store, "commit" | "records">,
): KeySharing | undefined {
  if (!config.store.postgres) return undefined;
  const sealing = sealingOf(config);
  if (sealing && isFailure(sealing)) throw new SallyportError(sealing);
  return { store, folder: keyFolder(config.stateFolder), sealing };
}

function sealingOf({ store, folder }: Pick<LoadedConfig, "store" | "folder">): Sealing | Failure | undefined {
  const { keyEncryption } = store;
  if (!keyEncryption) return undefined;
  const source = secretPlace(keyEncryption);
  const text = readSecret(keyEncryption, folder);
  return text === undefined
    ? keyTrouble(
        `${source}, which store.keyEncryption names, is not set.`,
        "Set it to the key that the other processes have; a new fleet makes one with: openssl rand -base64 32",
      )
    : sealingWith(text, source);
}
