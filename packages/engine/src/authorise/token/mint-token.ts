import { type KeyObject, sign } from "node:crypto";
import type { JsonObject } from "@sallyport/protocol";

/** The private key tokens are signed with, and its name. */
export interface SigningKey {
  kid: string;
  privateKey: KeyObject;
}

/** What a new capability token shall say. Times in milliseconds; the token has whole seconds. */
export interface MintClaims {
  jti: string;
  issuer: string;
  /** Tool id, or a pattern with `*`. */
  tool: string;
  /** SemVer range of the tool's versions. */
  versions: string;
  agent: string;
  tenant: string;
  operations: readonly string[];
  issuedAt: number;
  expiresAt: number;
  /** One mode for all paths, because a token has no more. */
  filesystem?: { paths: readonly string[]; mode: "ro" | "rw" };
  /** Each port on each host. */
  network?: { hosts: readonly string[]; ports: readonly number[] };
  credentials?: readonly string[];
}

/** A signed capability token with the claims of L3 §4.1.1 and a jti. Throws when the key cannot sign. */
export function mintToken(claims: MintClaims, key: SigningKey): string {
  return signToken(
    {
      tool_id: claims.tool,
      tool_version: claims.versions,
      agent_did: claims.agent,
      tenant_id: claims.tenant,
      allowed_operations: [...claims.operations],
      ...permissionClaims(claims),
      exp: inSeconds(claims.expiresAt),
      iat: inSeconds(claims.issuedAt),
      iss: claims.issuer,
      jti: claims.jti,
    },
    key,
  );
}

function permissionClaims({ filesystem, network, credentials }: MintClaims): JsonObject {
  return {
    ...(filesystem && {
      filesystem_permissions: { allowed_paths: [...filesystem.paths], mode: filesystem.mode },
    }),
    ...(network && {
      network_permissions: { allowed_hosts: [...network.hosts], allowed_ports: [...network.ports] },
    }),
    ...(credentials && { credential_permissions: { allowed_secrets: [...credentials] } }),
  };
}

/** Signs any payload as a compact JWS with RS256. Throws when the key cannot sign. */
export function signToken(payload: JsonObject, { kid, privateKey }: SigningKey): string {
  const signed = `${encode({ alg: "RS256", typ: "JWT", kid })}.${encode(payload)}`;
  return `${signed}.${sign("RSA-SHA256", Buffer.from(signed), privateKey).toString("base64url")}`;
}

function encode(value: JsonObject): string {
  return Buffer.from(JSON.stringify(value)).toString("base64url");
}

/** Whole seconds, rounded down. */
export function inSeconds(ms: number): number {
  return Math.floor(ms / 1000);
}
