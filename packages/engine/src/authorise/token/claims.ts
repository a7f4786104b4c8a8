import { type Failure, failure, type JsonObject, type JsonValue } from "@sallyport/protocol";
import type { TokenClaims } from "../../ports/tokens.ts";
import { ClaimReader } from "./claim-reader.ts";
import { readPermissions } from "./permission-claims.ts";
import type { VersionRanges } from "./version-ranges.ts";

/** A payload in the house's words. */
export interface ReadClaims {
  /** Frozen, all of it: the same object is handed out again and again. */
  claims: TokenClaims;
  notBefore?: number;
  audiences?: string[];
}

/** Reads what a capability token has to say (L3 §4.1.1); E3207 with an issue for each claim that is missing or wrong. */
export function readClaims(
  payload: JsonObject,
  { ranges, kid }: { ranges: VersionRanges; kid: string },
): ReadClaims | Failure {
  const reader = new ClaimReader(payload);
  const claims = freeze({
    jti: reader.text("jti"),
    issuer: reader.text("iss"),
    kid,
    tool: reader.text("tool_id"),
    versions: reader.text("tool_version"),
    agent: reader.text("agent_did"),
    tenant: reader.text("tenant_id"),
    operations: reader.texts("allowed_operations"),
    permissions: readPermissions(reader),
    issuedAt: reader.date("iat"),
    expiresAt: reader.date("exp"),
  });
  if (claims.versions !== "" && !ranges.isRange(claims.versions))
    reader.note("tool_version", claims.versions, "is not a SemVer range");
  const limits = readLimits(reader);
  return reader.issues.length === 0 ? { claims, ...limits } : lacking(reader);
}

function readLimits(reader: ClaimReader): Pick<ReadClaims, "notBefore" | "audiences"> {
  const audience = reader.get("aud");
  return {
    ...(reader.get("nbf") !== undefined && { notBefore: reader.date("nbf") }),
    ...(audience !== undefined && { audiences: readAudience(reader, audience) }),
  };
}

function readAudience(reader: ClaimReader, audience: JsonValue): string[] {
  return typeof audience === "string" ? [reader.text("aud")] : reader.texts("aud");
}

/** E3207 with what the reader noted. */
export function lacking({ issues }: ClaimReader): Failure {
  const names = issues.map(({ path }) => path.slice(1)).join(", ");
  return failure("E3207", {
    message: `The token lacks what it has to say, or says it wrongly: ${names}.`,
    issues,
    details: { claims: issues.map(({ path }) => path) },
  });
}

function freeze(claims: TokenClaims): TokenClaims {
  const { operations, permissions } = claims;
  const { filesystem, network, credentials } = permissions;
  for (const entry of filesystem) Object.freeze(entry);
  for (const entry of network) Object.freeze(entry);
  for (const part of [filesystem, network, credentials, permissions, operations]) Object.freeze(part);
  return Object.freeze(claims);
}
