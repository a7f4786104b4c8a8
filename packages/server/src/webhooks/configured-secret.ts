import { join, resolve } from "node:path";
import { type Failure, failure, isFailure, SallyportError } from "@sallyport/protocol";
import type { LoadedConfig } from "../config/load.ts";
import { keyFolder } from "../keys/index.ts";
import { ensureWebhookSecret, WEBHOOK_FILE, webhookSecretsIn } from "../keys/webhook-secret.ts";
import { readSecret } from "../runtime/configured-secrets.ts";

type Reference = NonNullable<LoadedConfig["webhooks"]["secret"]>;

/** The secrets that webhooks are signed with, the newest first: the configured ones, or the server's own. A failure says where they were looked for. */
export function webhookSecrets({ webhooks, folder, stateFolder }: LoadedConfig): string[] | Failure {
  if (webhooks.secret) return configuredWebhookSecrets(webhooks.secret, folder);
  const keys = keyFolder(stateFolder);
  return located(ensureWebhookSecret(keys), join(keys, WEBHOOK_FILE));
}

/** The secrets that `webhooks.secret` leads to. A failure names the variable or the file, and quotes nothing of what it holds. */
export function configuredWebhookSecrets(reference: Reference, folder: string): string[] | Failure {
  try {
    const text = readSecret(reference, folder);
    if (text === undefined) return notSet("env" in reference ? reference.env : "");
    return located(webhookSecretsIn(text), sourceOf(reference, folder));
  } catch (error) {
    if (error instanceof SallyportError) return error.failure;
    throw error;
  }
}

function notSet(variable: string): Failure {
  return failure("E3227", {
    message: `The environment variable ${variable}, which webhooks.secret names, is not set.`,
    advice: "Set it, or leave webhooks.secret out: a secret is made then.",
  });
}

function sourceOf(reference: Reference, folder: string): string {
  return "env" in reference ? `the environment variable ${reference.env}` : resolve(folder, reference.file);
}

function located(secrets: string[] | Failure, source: string): string[] | Failure {
  if (!isFailure(secrets) || secrets.message.includes(source)) return secrets;
  return { ...secrets, message: `${secrets.message.replace(/\.$/, "")}: looked for it in ${source}.` };
}
