import type { AuditLink } from "@sallyport/engine";
import { GENESIS, linkAfter } from "@sallyport/engine/chain";

/** The events of one unit, linked: what the audit table keeps of them and what the caller is told. */
export interface LinkedRun {
  firstSequence: number;
  last: AuditLink;
  hashes: string[];
  /** One "hash body" a line. */
  lines: string;
}

/** Links the bodies of one unit to the chain's head, in the form a row keeps them. */
export function linkRun(head: AuditLink | undefined, bodies: readonly string[]): LinkedRun {
  const start = head ?? GENESIS;
  let last = start;
  let lines = "";
  const hashes: string[] = [];
  for (const body of bodies) {
    last = linkAfter(last, body);
    hashes.push(last.hash);
    lines += `${lines === "" ? "" : "\n"}${last.hash} ${body}`;
  }
  return { firstSequence: start.sequence + 1, last, hashes, lines };
}
