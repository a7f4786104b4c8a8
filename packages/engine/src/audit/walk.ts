import type { AuditEntry, AuditLink, AuditReader } from "../ports/audit-log.ts";
import { ChainCheck, type ChainReport } from "./verify.ts";

const PAGE = 1_000;

/** Every event of a tenant in order, a page at a time. Events that come meanwhile are included. */
export async function* auditEntries(reader: AuditReader, tenant: string): AsyncGenerator<AuditEntry> {
  for (let after = 0, isMore = true; isMore; ) {
    const page = await reader.read(tenant, { after, limit: PAGE });
    yield* page;
    after = page.at(-1)?.sequence ?? after;
    isMore = page.length === PAGE;
  }
}

/** Checks a tenant's whole chain against the head the store remembers, and against a receipt where one is given. */
export async function verifyChain(
  reader: AuditReader,
  tenant: string,
  receipt?: AuditLink,
): Promise<ChainReport> {
  // Read before the events, so that those a writer adds meanwhile are not taken for a difference.
  const head = await reader.head(tenant);
  const check = new ChainCheck(tenant, { receipt, head });
  for await (const entry of auditEntries(reader, tenant)) check.add(entry);
  const report = check.finish();
  if (head || report.events === 0) return report;
  const lost = {
    sequence: report.head.sequence,
    problem: "missing" as const,
    message: "the chain's head is gone",
  };
  return { ...report, findings: [...report.findings, lost] };
}
