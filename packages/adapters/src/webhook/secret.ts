import { createSecretKey, type KeyObject, randomBytes } from "node:crypto";
import { type Failure, failure } from "@sallyport/protocol";

const PREFIX = "whsec_";
/** What Standard Webhooks asks of a secret. */
const [FEWEST_BYTES, MOST_BYTES] = [24, 64];
const NEW_BYTES = 32;
/** The present one, and those that are on their way out. */
const MOST_SECRETS = 4;
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

/** A new secret in the form receivers' libraries take: `whsec_` and base64. */
export function newWebhookSecret(): string {
  return `${PREFIX}${randomBytes(NEW_BYTES).toString("base64")}`;
}

/** The keys to sign with, the newest first; E3227, which quotes nothing of them, when one cannot be used. */
export function readWebhookSecrets(secrets: readonly string[]): KeyObject[] | Failure {
  if (secrets.length === 0) return unusable("There is no webhook secret.");
  if (secrets.length > MOST_SECRETS)
    return unusable(`There are ${secrets.length} webhook secrets; at most ${MOST_SECRETS} are signed with.`);
  const keys = secrets.map(readSecret);
  return keys.every((key) => key !== undefined)
    ? keys
    : unusable(`A webhook secret is not ${PREFIX} and ${FEWEST_BYTES} to ${MOST_BYTES} bytes in base64.`);
}

function readSecret(secret: string): KeyObject | undefined {
  const encoded = secret.startsWith(PREFIX) ? secret.slice(PREFIX.length) : "";
  if (!BASE64.test(encoded)) return undefined;
  const bytes = Buffer.from(encoded, "base64");
  const fits = bytes.length >= FEWEST_BYTES && bytes.length <= MOST_BYTES;
  return fits ? createSecretKey(bytes) : undefined;
}

function unusable(message: string): Failure {
  const advice = `Write ${PREFIX} and then what \`openssl rand -base64 ${NEW_BYTES}\` prints, and give receivers the same text.`;
  return failure("E3227", { message, advice });
}
