import { newWebhookSecret, readWebhookSecrets } from "@sallyport/adapters/webhook";
import { type Failure, isFailure } from "@sallyport/protocol";
import { ensureSecret, readKeyFile } from "./key-files.ts";

/** One secret a line, the newest first. */
export const WEBHOOK_FILE = "webhook.secret";

/**
 * The secrets webhooks are signed with, made first if there are none; E3227 when they cannot be used. To change the
 * secret, put a new line on top, and take the old one away once every receiver checks with the new one.
 */
export function ensureWebhookSecret(folder: string): string[] | Failure {
  return ensureSecret(folder, {
    name: WEBHOOK_FILE,
    what: "The webhook secret",
    make: () => `${newWebhookSecret()}\n`,
    read: () => {
      const text = readKeyFile(folder, WEBHOOK_FILE, "secret");
      return Buffer.isBuffer(text) ? webhookSecretsIn(text.toString("utf8")) : text;
    },
  });
}

/** The secrets in a text, such as a configured one: parted by spaces or lines, the newest first. E3227 quotes nothing. */
export function webhookSecretsIn(text: string): string[] | Failure {
  const secrets = text.split(/\s+/).filter((word) => word !== "");
  const keys = readWebhookSecrets(secrets);
  return isFailure(keys) ? keys : secrets;
}
