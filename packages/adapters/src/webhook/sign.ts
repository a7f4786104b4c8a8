import { createHmac, type KeyObject } from "node:crypto";

/** What one delivery says. */
export interface WebhookMessage {
  /** The same for every try, so that a receiver can drop what it has already. */
  id: string;
  /** Unix milliseconds of this try: a receiver refuses what is old. */
  at: number;
  body: string;
}

const SECOND_MS = 1_000;

/** The three headers of Standard Webhooks; one signature for each key, so that a secret can be changed without a gap. */
export function signedHeaders(
  { id, at, body }: WebhookMessage,
  keys: readonly KeyObject[],
): Record<string, string> {
  const timestamp = String(Math.floor(at / SECOND_MS));
  const content = `${id}.${timestamp}.${body}`;
  const signatures = keys.map((key) => `v1,${createHmac("sha256", key).update(content).digest("base64")}`);
  return {
    "webhook-id": id,
    "webhook-timestamp": timestamp,
    "webhook-signature": signatures.join(" "),
  };
}
