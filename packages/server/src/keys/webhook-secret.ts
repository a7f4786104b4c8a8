import { linkSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { newWebhookSecret, readWebhookSecrets } from "@sallyport/adapters/webhook";
import { type Failure, isFailure } from "@sallyport/protocol";
import {
  folderTrouble,
  hasCode,
  keyTrouble,
  makeFolder,
  readKeyFile,
  reasonOf,
  syncFolder,
  UNFINISHED,
  writeWhole,
} from "./key-files.ts";

/** One secret a line, the newest first. */
export const WEBHOOK_FILE = "webhook.secret";

/**
 * The secrets webhooks are signed with, made first if there are none; E3227 when they cannot be used. To change the
 * secret, put a new line on top, and take the old one away once every receiver checks with the new one.
 */
export function ensureWebhookSecret(folder: string): string[] | Failure {
  try {
    makeFolder(folder);
    const trouble = folderTrouble(folder);
    if (trouble) return trouble;
    if (!statSync(join(folder, WEBHOOK_FILE), { throwIfNoEntry: false })) createSecret(folder);
    const text = readKeyFile(folder, WEBHOOK_FILE, "secret");
    return Buffer.isBuffer(text) ? webhookSecretsIn(text.toString("utf8")) : text;
  } catch (error) {
    return keyTrouble(`The webhook secret cannot be made in ${folder}: ${reasonOf(error)}`);
  }
}

/** The secrets in a text, such as a configured one: parted by spaces or lines, the newest first. E3227 quotes nothing. */
export function webhookSecretsIn(text: string): string[] | Failure {
  const secrets = text.split(/\s+/).filter((word) => word !== "");
  const keys = readWebhookSecrets(secrets);
  return isFailure(keys) ? keys : secrets;
}

function createSecret(folder: string): void {
  const draft = join(folder, `${WEBHOOK_FILE}.${process.pid}${UNFINISHED}`);
  try {
    writeWhole(draft, `${newWebhookSecret()}\n`);
    // Unlike a rename, a link never replaces the secret another process has just put there.
    linkSync(draft, join(folder, WEBHOOK_FILE));
    syncFolder(folder);
  } catch (error) {
    if (!hasCode(error, "EEXIST")) throw error;
  } finally {
    rmSync(draft, { force: true });
  }
}
