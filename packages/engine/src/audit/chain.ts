import { hash } from "node:crypto";
import type { AuditEntry, AuditLink } from "../ports/store.ts";

/** What the first event of a chain is linked to. */
export const GENESIS: AuditLink = { sequence: 0, hash: "0".repeat(64) };

/**
 * The next link: SHA-256 over the previous hash, this sequence number and the body in canonical JSON, so that
 * changing, removing, inserting or moving any event breaks every later link. The body names its tenant.
 */
export function linkAfter(previous: AuditLink, body: string): AuditLink {
  const sequence = previous.sequence + 1;
  return { sequence, hash: hash("sha256", `${previous.hash}\n${sequence}\n${body}`) };
}

/** Links bodies one after the other; stores call this inside the transaction that appends them. */
export function linkAll(head: AuditLink, bodies: readonly string[]): AuditEntry[] {
  let previous = head;
  return bodies.map((body) => {
    previous = linkAfter(previous, body);
    return { ...previous, body };
  });
}
