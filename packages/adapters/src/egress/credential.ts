import { validateHeaderValue } from "node:http";
import type { EgressCredential, SecretSource } from "@sallyport/engine";
import { type Denial, forbidden, unreached } from "./denial.ts";
import type { Way } from "./gate.ts";

/** A header that carries a secret. It goes upstream and nowhere else. */
export interface CredentialHeader {
  name: string;
  value: string;
}

/** The header's name, in lower case: whatever the client sent under it is replaced. */
export function credentialName({ as }: EgressCredential): string {
  return "basic" in as ? "authorization" : as.header.toLowerCase();
}

/** Refuses to send a secret in the clear to where others may listen. */
export function exposed({ rule, to, addresses }: Way, secure: boolean): Denial | undefined {
  if (!rule.credential || secure) return undefined;
  if (rule.allowPrivate === true && addresses.every(({ kind }) => kind !== "public")) return undefined;
  return forbidden(
    to,
    `${to.name}:${to.port} gets a credential, which is not sent over plain HTTP.`,
    "Use https and let the rule intercept it; plain HTTP only serves private addresses that a rule allows.",
  );
}

/** Asks for the secret now and makes the header of it. What the source says on failure is kept to itself. */
export async function credentialFor(
  { rule, to }: Way,
  secrets: SecretSource | undefined,
): Promise<CredentialHeader | Denial | undefined> {
  const { credential } = rule;
  if (!credential) return undefined;
  const secret = await ask(secrets, credential.secret);
  const value = secret === undefined ? undefined : written(credential, secret);
  if (value !== undefined) return { name: credentialName(credential), value };
  const message = `The credential for ${to.name}:${to.port} could not be had; nothing was sent.`;
  return unreached(to, "E3301", { message });
}

/** Undefined when there is none or it cannot be had: for the client both are the same. */
async function ask(secrets: SecretSource | undefined, name: string): Promise<string | undefined> {
  try {
    const secret = await secrets?.get(name);
    return secret === "" ? undefined : secret;
  } catch {
    return undefined;
  }
}

/** Undefined when the secret does not fit into a header. */
function written({ as }: EgressCredential, secret: string): string | undefined {
  if ("basic" in as) return `Basic ${Buffer.from(`${as.basic.user}:${secret}`).toString("base64")}`;
  const value = as.value.replaceAll("{secret}", () => secret);
  try {
    validateHeaderValue(as.header, value);
    return value;
  } catch {
    return undefined;
  }
}
