import { hash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { type Failure, isFailure } from "@sallyport/protocol";
import { type DocumentStore, Documents } from "../runtime/documents.ts";
import { ensureGrantsKey } from "./grants-key.ts";
import { folderTrouble, KEY_FILES, keyTrouble, makeKeyFolder, reasonOf, writeKeyFile } from "./key-files.ts";
import type { Sealing } from "./key-sealing.ts";
import { ensureOperatorKey, OPERATOR_KEY_FILE } from "./operator-key.ts";
import { ensureWebhookSecret, WEBHOOK_FILE } from "./webhook-secret.ts";

/*
 * The keys of a server whose store is shared. Every process reads keys from its own key folder. With an encryption key
 * the store has them too, sealed: a process that starts writes them into its folder, and one that changes keys puts the
 * changed ones into the store. Without, an operator copies the folder to every machine, and the store has fingerprints
 * only, so that a process with other keys is refused.
 */

/** What the store knows. */
interface KeyRecord {
  /** SHA-256 of each file, by name. */
  prints: Record<string, string>;
  /** The files, sealed; absent where the operator distributes them. */
  sealed?: string;
}

/** What there is to share, and with what. */
export interface KeySharing {
  store: DocumentStore;
  /** The key folder of this process. */
  folder: string;
  /** Left out: the operator distributes the files. */
  sealing?: Sealing | undefined;
}

/** In the key folder: the prints of what was last taken from the store or put there. */
const TAKEN_FILE = "shared.json";
/** Without one of these a server would make its own, and grants, operators or webhooks of the others would not count. */
const COMMON = [KEY_FILES.grants, OPERATOR_KEY_FILE, WEBHOOK_FILE];
const SHARED_NAME =
  /^(?:grants\.key|operator\.key|webhook\.secret|jwks\.json|current|signing-[\w-]{1,64}\.pem)$/;
const ID = "server";

/**
 * Makes the keys of this process those of all: takes them from the store, or puts them there when it has none. E3227, with
 * what to do, when the folder has other keys that did not come from the store.
 */
export async function shareKeys(sharing: KeySharing): Promise<Failure | undefined> {
  const documents = keysIn(sharing.store);
  const found = await documents.get(ID);
  if (found) return await takeKeys(sharing, found);
  const earlier = readFiles(sharing.folder);
  if (isFailure(earlier)) return earlier;
  const files = makeCommon(sharing.folder) ?? readFiles(sharing.folder);
  if (isFailure(files)) return files;
  const isFirst = await documents.put(ID, recordOf(files, sharing.sealing), { expect: 0 });
  if (isFirst) return note(sharing.folder, printsOf(files));
  // Another process was first. What was made only now is nobody's yet, and may be replaced.
  const made = Object.entries(printsOf(files)).filter(([name]) => !(name in earlier));
  note(sharing.folder, Object.fromEntries(made));
  const first = await documents.get(ID);
  return first ? await takeKeys(sharing, first) : keyTrouble("The keys in the store were deleted meanwhile.");
}

/** Changes the keys of all processes: `change` works on the folder. E3227, and their keys in the folder, when others were faster. */
export async function changeSharedKeys<Change extends object>(
  sharing: KeySharing,
  change: () => Promise<Change | Failure>,
): Promise<Change | Failure> {
  const { store, folder, sealing } = sharing;
  const trouble = await shareKeys(sharing);
  if (trouble) return trouble;
  const before = await keysIn(store).get(ID);
  const changed = await change();
  const files = isFailure(changed) ? changed : readFiles(folder);
  if (isFailure(files)) return files;
  note(folder, printsOf(files));
  const expect = before?.revision ?? 0;
  if (await keysIn(store).put(ID, recordOf(files, sealing), { expect })) return changed;
  await shareKeys(sharing);
  const advice = "See what signs now with `sallyport keys list`, and try again if need be.";
  return keyTrouble("Another process changed the keys of this store at the same time.", advice);
}

/** Puts the keys of this folder in the place of those that all processes have; without sealing, their fingerprints. */
export async function replaceKeys({ store, folder, sealing }: KeySharing): Promise<Failure | undefined> {
  const files = makeCommon(folder) ?? readFiles(folder);
  if (isFailure(files)) return files;
  await keysIn(store).put(ID, recordOf(files, sealing));
  return note(folder, printsOf(files));
}

function keysIn(store: DocumentStore): Documents<KeyRecord> {
  return new Documents(store, "keys");
}

async function takeKeys(
  { store, folder, sealing }: KeySharing,
  { body, revision }: { body: KeyRecord; revision: number },
): Promise<Failure | undefined> {
  if (!sealing) return body.sealed === undefined ? compare(folder, body.prints) : notConfigured();
  if (body.sealed === undefined) {
    const trouble = compare(folder, body.prints);
    const files = trouble ?? readFiles(folder);
    if (isFailure(files)) return files;
    await keysIn(store).put(ID, recordOf(files, sealing), { expect: revision });
    return note(folder, printsOf(files));
  }
  const opened = sealing.open(body.sealed);
  return typeof opened === "string" ? write(folder, JSON.parse(opened)) : opened;
}

/** File contents in base64, by name. */
type Files = Record<string, string>;

function recordOf(files: Files, sealing: Sealing | undefined): KeyRecord {
  const prints = printsOf(files);
  return sealing ? { prints, sealed: sealing.seal(JSON.stringify(files)) } : { prints };
}

function printsOf(files: Files): Record<string, string> {
  return Object.fromEntries(Object.entries(files).map(([name, content]) => [name, hash("sha256", content)]));
}

function makeCommon(folder: string): Failure | undefined {
  for (const made of [ensureGrantsKey(folder), ensureOperatorKey(folder), ensureWebhookSecret(folder)])
    if (isFailure(made)) return made;
  return undefined;
}

function readFiles(folder: string): Files | Failure {
  try {
    if (!existsSync(folder)) return {};
    const trouble = folderTrouble(folder);
    if (trouble) return trouble;
    const names = readdirSync(folder).filter((name) => SHARED_NAME.test(name));
    return Object.fromEntries(names.map((name) => [name, readFileSync(join(folder, name), "base64")]));
  } catch (error) {
    return keyTrouble(`The keys in ${folder} cannot be read: ${reasonOf(error)}`);
  }
}

/** Of files that an operator distributes: those that all processes have to have in common. Signing keys may be on their way. */
function compare(folder: string, prints: KeyRecord["prints"]): Failure | undefined {
  const files = readFiles(folder);
  if (isFailure(files)) return files;
  const here = printsOf(files);
  const names = COMMON.filter((name) => prints[name] !== undefined && here[name] !== prints[name]);
  if (names.length === 0) return undefined;
  const how = names
    .map((name) => `${name} ${here[name] === undefined ? "is missing" : "differs"}`)
    .join(", ");
  return keyTrouble(
    `The keys in ${folder} are not those of the other processes on this store: ${how}.`,
    "Copy the key folder of another process here, or keep keys in the store (store.keyEncryption).",
  );
}

/** Replaces the files of a folder, as long as those that are there came from the store. */
function write(folder: string, files: Files): Failure | undefined {
  try {
    makeKeyFolder(folder);
    const here = readFiles(folder);
    if (isFailure(here)) return here;
    const [now, taken, prints] = [printsOf(here), takenIn(folder), printsOf(files)];
    const own = Object.keys(now).filter((name) => now[name] !== prints[name] && now[name] !== taken[name]);
    if (own.length > 0) return ownKeys(folder, own);
    // The name of the key that signs goes last: the key itself has to be there by then.
    const names = Object.keys(files).filter((name) => SHARED_NAME.test(name) && now[name] !== prints[name]);
    for (const name of names.toSorted((one, other) => order(one) - order(other)))
      writeKeyFile(folder, name, Buffer.from(files[name] ?? "", "base64"));
    for (const name of Object.keys(now)) if (!(name in files)) rmSync(join(folder, name));
    return names.length > 0 || Object.keys(taken).length === 0 ? note(folder, prints) : undefined;
  } catch (error) {
    return keyTrouble(`The keys of the store cannot be written to ${folder}: ${reasonOf(error)}`);
  }
}

function order(name: string): number {
  return name === KEY_FILES.current ? 1 : 0;
}

function takenIn(folder: string): Record<string, string> {
  const file = join(folder, TAKEN_FILE);
  return existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : {};
}

function note(folder: string, prints: Record<string, string>): undefined {
  writeKeyFile(folder, TAKEN_FILE, `${JSON.stringify(prints)}\n`);
}

function ownKeys(folder: string, names: readonly string[]): Failure {
  return keyTrouble(
    `The keys in ${folder} are others than those in the store: ${names.join(", ")}.`,
    "Move the folder away to take those of the store, or put these into the store: sallyport keys share",
  );
}

function notConfigured(): Failure {
  return keyTrouble(
    "The keys of this store are kept in it, encrypted, and there is no key to open them with.",
    "Set store.keyEncryption to what the other processes have.",
  );
}
