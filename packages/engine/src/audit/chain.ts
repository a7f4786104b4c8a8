import { hash } from "node:crypto";
import { isJsonObject, type JsonObject, parseJsonObject } from "@sallyport/protocol";
import type { AuditEntry, AuditLink } from "../ports/store.ts";

/** What the first link of a strand follows: the hash names the strand, so that a chain cannot be moved to another. */
export function genesis(strand: number): AuditLink {
  return { strand, sequence: 0, hash: String(strand).padStart(64, "0") };
}

/**
 * The next link: SHA-256 over the previous hash, this sequence number and the body in canonical JSON, so that
 * changing, removing, inserting or moving any body breaks every later link. The body names its tenant.
 */
export function linkAfter(previous: AuditLink, body: string): AuditEntry {
  const sequence = previous.sequence + 1;
  const digest = hash("sha256", `${previous.hash}\n${sequence}\n${body}`);
  return { strand: previous.strand, sequence, hash: digest, body };
}

/**
 * The body of a unit: its events in canonical JSON, and the members that all of them share (`common`, also canonical,
 * without the tenant). An event that states such a member itself has its own.
 */
export function auditBody(tenant: string, events: readonly string[], common?: string): string {
  const shared = common === undefined ? "" : `"common":${common},`;
  return `{${shared}"events":[${events.join(",")}],"tenant":${JSON.stringify(tenant)}}`;
}

/** The events of a body, each with the members it shares. A body of the first store format is one event itself. */
export function eventsIn(body: string): JsonObject[] {
  const unit = parseJsonObject(body);
  if (!unit) return [];
  if (!Array.isArray(unit.events)) return [unit];
  const common = isJsonObject(unit.common) ? unit.common : {};
  return unit.events
    .filter(isJsonObject)
    .map((event) => ({ ...common, tenant: unit.tenant ?? "", ...event }));
}
