import {
  absentOr,
  deepFreeze,
  type Failure,
  type Field,
  failure,
  type Infer,
  type Issue,
  type JsonObject,
  oneOf,
  type Permissions,
  record,
  SallyportError,
  simple,
  TOKEN_NAME,
} from "@sallyport/protocol";
import { validRange } from "semver";
import type { TokenClaims } from "../../ports/authority.ts";
import { type SigningKey, signToken } from "./jws.ts";

const MAX_ITEMS = 64;
const MAX_PATH = 4096;
const MAX_NAME = 255;
/** The last second of the year 9999; a larger number was given in milliseconds. */
const MAX_SECONDS = 253_402_300_799;

/** Lone surrogates are refused: such a text cannot be written to the record later. */
function isText(value: unknown, max = 256): value is string {
  return typeof value === "string" && value.length > 0 && value.length <= max && value.isWellFormed();
}

/** The claim is a text. */
export function claimText(max = 256): Field<string> {
  return simple(`a text of 1 to ${max} characters`, {}, (value) => isText(value, max));
}

function claimList<Item>(wanted: string, isItem: (value: unknown) => value is Item): Field<Item[]> {
  return simple(
    `a list of at most ${MAX_ITEMS} ${wanted}`,
    {},
    (value): value is Item[] => Array.isArray(value) && value.length <= MAX_ITEMS && value.every(isItem),
  );
}

function claimTexts(max = 256): Field<string[]> {
  return claimList(`texts of 1 to ${max} characters`, (value) => isText(value, max));
}

const claimPorts = claimList(
  "ports from 1 to 65535",
  (value): value is number => Number.isInteger(value) && Number(value) >= 1 && Number(value) <= 65_535,
);

/** The claim is a NumericDate: seconds since 1970. */
export const claimDate: Field<number> = simple(
  "a number of seconds since 1970",
  {},
  (value): value is number => typeof value === "number" && value >= 0 && value <= MAX_SECONDS,
);

/** SemVer takes white space for any version; a token has to say `*`. */
const versionRange = simple(
  "a SemVer range of at most 256 characters",
  {},
  (value): value is string => isText(value) && value.trim() !== "" && validRange(value) !== null,
);

/** A token that nobody can name cannot be revoked, so it is not accepted. */
const tokenName = simple(
  "1 to 256 visible characters that do not begin with @ and do not look like a token",
  {},
  (value): value is string => isText(value) && TOKEN_NAME.test(value),
);

const audiences = claimTexts();
const audience = simple(
  "a text or a list of texts",
  {},
  (value): value is string | string[] => isText(value) || audiences(value, "", []),
);

/** The claims of L3 §4.1.1. */
const capabilityClaims = record({
  jti: tokenName,
  iss: claimText(),
  tool_id: claimText(),
  tool_version: versionRange,
  agent_did: claimText(),
  tenant_id: claimText(),
  user_did: absentOr(claimText(MAX_NAME)),
  allowed_operations: claimTexts(),
  filesystem_permissions: absentOr(
    record({ allowed_paths: claimTexts(MAX_PATH), mode: oneOf(["ro", "rw"]) }),
  ),
  network_permissions: absentOr(record({ allowed_hosts: claimTexts(MAX_NAME), allowed_ports: claimPorts })),
  credential_permissions: absentOr(record({ allowed_secrets: claimTexts(MAX_NAME) })),
  iat: claimDate,
  exp: claimDate,
  nbf: absentOr(claimDate),
  aud: absentOr(audience),
});

/** What a verified token says. */
export interface ReadClaims {
  /** Deeply frozen: the same object is handed out again and again. */
  claims: TokenClaims;
  notBefore?: number;
  audiences?: string[];
}

/** Reads the claims of a capability token; E3207 with an issue for each claim that is missing or wrong. */
export function readClaims(payload: JsonObject, kid: string): ReadClaims | Failure {
  const issues: Issue[] = [];
  if (!capabilityClaims(payload, "", issues)) return wrongClaims(issues);
  const { nbf, aud, user_did: user } = payload;
  const claims: TokenClaims = {
    jti: payload.jti,
    issuer: payload.iss,
    kid,
    tool: payload.tool_id,
    versions: payload.tool_version,
    agent: payload.agent_did,
    tenant: payload.tenant_id,
    ...(user !== undefined && { user }),
    operations: payload.allowed_operations,
    permissions: permissionsOf(payload),
    issuedAt: dateMs(payload.iat),
    expiresAt: dateMs(payload.exp),
  };
  return {
    claims: deepFreeze(claims),
    ...(nbf !== undefined && { notBefore: dateMs(nbf) }),
    ...(aud !== undefined && { audiences: typeof aud === "string" ? [aud] : aud }),
  };
}

/** A group of permissions that is left out allows nothing. */
function permissionsOf(claims: Infer<typeof capabilityClaims>): Permissions {
  const { filesystem_permissions: files, network_permissions: net, credential_permissions: secrets } = claims;
  return {
    filesystem: files?.allowed_paths.map((path) => ({ path, mode: files.mode })) ?? [],
    // The claim has two lists and does not say which belong together: every port on every host.
    network: net?.allowed_hosts.flatMap((host) => net.allowed_ports.map((port) => ({ host, port }))) ?? [],
    credentials: secrets?.allowed_secrets ?? [],
  };
}

/** A NumericDate in milliseconds. */
export function dateMs(seconds: number): number {
  return Math.trunc(seconds * 1000);
}

/** When the payload says that it expires, in milliseconds; undefined when it does not say so. */
export function expiryOf({ exp }: JsonObject): number | undefined {
  return claimDate(exp, "", []) ? dateMs(exp) : undefined;
}

/** E3207 with the claims that are missing or wrong. */
export function wrongClaims(issues: Issue[]): Failure {
  const paths = issues.map(({ path }) => path);
  return failure("E3207", {
    message: `Claims of the token are missing or wrong: ${paths.map((path) => path.slice(1)).join(", ")}.`,
    issues,
    details: { claims: paths },
  });
}

/** What a new capability token shall say; the token has its times in whole seconds. */
export interface MintClaims extends Omit<TokenClaims, "kid" | "operations" | "permissions"> {
  operations: readonly string[];
  /** One mode for all paths, because a token has no more. */
  filesystem?: { paths: readonly string[]; mode: "ro" | "rw" };
  /** Each port on each host. */
  network?: { hosts: readonly string[]; ports: readonly number[] };
  credentials?: readonly string[];
}

/** A signed capability token with the claims of L3 §4.1.1 and a jti. Throws when the key cannot sign, or the jti is no name. */
export function mintToken(claims: MintClaims, key: SigningKey): string {
  if (!TOKEN_NAME.test(claims.jti)) {
    const message = "A jti has 1 to 256 characters that can be seen, no @ before them, and is no token.";
    throw new SallyportError(failure("E3207", { message }));
  }
  const { user, filesystem: files, network: net, credentials } = claims;
  return signToken(
    {
      tool_id: claims.tool,
      tool_version: claims.versions,
      agent_did: claims.agent,
      tenant_id: claims.tenant,
      ...(user !== undefined && { user_did: user }),
      allowed_operations: [...claims.operations],
      ...(files && { filesystem_permissions: { allowed_paths: [...files.paths], mode: files.mode } }),
      ...(net && { network_permissions: { allowed_hosts: [...net.hosts], allowed_ports: [...net.ports] } }),
      ...(credentials && { credential_permissions: { allowed_secrets: [...credentials] } }),
      exp: dateSeconds(claims.expiresAt),
      iat: dateSeconds(claims.issuedAt),
      iss: claims.issuer,
      jti: claims.jti,
    },
    key,
  );
}

/** Whole seconds, rounded down. */
export function dateSeconds(ms: number): number {
  return Math.floor(ms / 1000);
}
