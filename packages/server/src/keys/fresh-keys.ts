import { statSync } from "node:fs";
import { type Failure, isFailure, SallyportError } from "@sallyport/protocol";

/** How long a changed file may go unseen. */
const LOOK_AGAIN_MS = 1_000;

/**
 * What is read from key files, and read again once one of them has changed, so that a rotated key counts in a running
 * server. Throws E3227 while they cannot be used: a key that may have been taken out of force must not stay good.
 */
export function freshKeys<Keys extends object>(
  read: () => Keys | Failure,
  files: readonly string[],
  now: () => number = Date.now,
): () => Keys {
  let known: { keys: Keys | Failure; stamp: string } | undefined;
  let lookAt = 0;
  return () => {
    if (!known || now() >= lookAt) {
      lookAt = now() + LOOK_AGAIN_MS;
      const stamp = files.map(stampOf).join();
      if (known?.stamp !== stamp) known = { keys: read(), stamp };
    }
    if (isFailure(known.keys)) throw new SallyportError(known.keys);
    return known.keys;
  };
}

function stampOf(file: string): string {
  const found = statSync(file, { throwIfNoEntry: false });
  return found ? `${found.ino} ${found.mtimeMs} ${found.size}` : "";
}
