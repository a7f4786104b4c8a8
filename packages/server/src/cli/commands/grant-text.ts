import type { CapabilityGrant, GrantRecord, StandingGrant } from "@sallyport/engine/ports";
import { relativeText } from "../duration-text.ts";
import { table, visible } from "../io.ts";

/** How a grant stands, as far as its own dates say. */
export function stateOf(
  { revokedAt, expiresAt }: GrantRecord,
  now: number,
): "in force" | "revoked" | "expired" {
  if (revokedAt !== undefined) return "revoked";
  return expiresAt !== undefined && expiresAt <= now ? "expired" : "in force";
}

/** A grant for a program: dates as text, and how it stands. */
export function grantDocument(record: GrantRecord, now: number) {
  const { issuedAt, expiresAt, revokedAt, lastUsedAt, ...rest } = record;
  return {
    ...rest,
    state: stateOf(record, now),
    issuedAt: iso(issuedAt),
    ...(expiresAt !== undefined && { expiresAt: iso(expiresAt) }),
    ...(revokedAt !== undefined && { revokedAt: iso(revokedAt) }),
    ...(lastUsedAt !== undefined && { lastUsedAt: iso(lastUsedAt) }),
  };
}

/** One line a grant. */
export function grantTable(records: readonly GrantRecord[], now: number): string {
  const header = ["GRANT", "KIND", "WHAT", "FOR", "SCOPE", "UNTIL", "USES", "LAST USE", "STATE"];
  const lines = records.map((record) => [
    record.grantId,
    record.kind,
    whatOf(record),
    whomOf(record),
    scopeOf(record),
    record.expiresAt === undefined ? "no end" : relativeText(record.expiresAt, now),
    String(record.uses),
    record.lastUsedAt === undefined ? "never" : relativeText(record.lastUsedAt, now),
    stateOf(record, now),
  ]);
  return table(
    [header, ...lines],
    "No grants in force. Give one: sallyport grants issue --capability filesystem.read --tool TOOL --ttl 24h",
  );
}

/** Everything about one grant, for a person. */
export function grantText(record: GrantRecord, now: number): string {
  const { revokedAt, revokedBy, revokedBecause, lastUsedAt } = record;
  const rows: [string, string | undefined][] = [
    ["gives", whatOf(record)],
    ["to", `${whomOf(record)} of ${record.tenant}`],
    ["scope", scopeOf(record)],
    ["given by", `${record.grantor}, ${relativeText(record.issuedAt, now)}`],
    ["until", record.expiresAt === undefined ? "it is revoked" : iso(record.expiresAt)],
    [
      "used",
      `${record.uses} times${lastUsedAt === undefined ? "" : `, last ${relativeText(lastUsedAt, now)}`}`,
    ],
    ["state", stateOf(record, now)],
    ["revoked", revokedAt === undefined ? undefined : `${iso(revokedAt)} by ${revokedBy}: ${revokedBecause}`],
    ...(record.kind === "capability" ? lineageRows(record) : standingRows(record)),
  ];
  const lines = rows.flatMap(([name, text]) => (text === undefined ? [] : [`  ${name.padEnd(11)}${text}`]));
  return visible([`${record.kind} grant ${record.grantId}`, ...lines].join("\n"));
}

function lineageRows({
  delegatable,
  delegationDepth,
  parentGrantId,
}: CapabilityGrant): [string, string | undefined][] {
  return [
    [
      "delegated",
      parentGrantId === undefined ? undefined : `from ${parentGrantId}, depth ${delegationDepth} of 3`,
    ],
    ["passed on", delegatable ? "may be" : "may not be"],
  ];
}

function standingRows({ tier, approvalId }: StandingGrant): [string, string | undefined][] {
  return [
    ["answers", `questions up to the tier ${tier}`],
    ["came from", approvalId === undefined ? undefined : `approval ${approvalId}`],
  ];
}

function whatOf(record: GrantRecord): string {
  if (record.kind === "capability") return record.capabilityId;
  return `${record.tool}@${record.versions} ${record.operations.join(", ")}`;
}

function whomOf(record: GrantRecord): string {
  if (record.kind === "capability") return `${record.grantee.type.toLowerCase()} ${record.grantee.id}`;
  return record.agent === "*" ? "any agent" : `agent ${record.agent}`;
}

function scopeOf(record: GrantRecord): string {
  const parts = record.kind === "capability" ? capabilityScope(record) : standingScope(record);
  return parts.length > 0 ? parts.join("; ") : "anything";
}

function capabilityScope({ scope, constraints }: CapabilityGrant): string[] {
  const { resources, actions, conditions } = scope;
  return [
    ...(actions.length > 0 ? [actions.join(", ")] : []),
    ...(resources.length > 0 ? [`on ${resources.join(", ")}`] : []),
    ...conditions.map(({ type, expression }) => `${type}: ${expression}`),
    ...constraints.map(({ type, value }) => `${type} ${JSON.stringify(value)}`),
  ];
}

function standingScope({ arguments: patterns, session, project }: StandingGrant): string[] {
  return [
    ...patterns.map(({ pointer, match }) => `${pointer || "input"} ${JSON.stringify(match)}`),
    ...(session === undefined ? [] : [`session ${session}`]),
    ...(project === undefined ? [] : [`in ${project}`]),
  ];
}

function iso(at: number): string {
  return new Date(at).toISOString();
}
