import { canonicalJson, type JsonObject, parseJsonObject } from "@sallyport/protocol";
import type { AuditEntry, AuditLink, AuditReader } from "../ports/store.ts";
import { GENESIS, linkAfter } from "./chain.ts";

interface ChainFinding {
  sequence: number;
  problem: "changed" | "missing" | "out_of_order" | "foreign" | "not_canonical" | "truncated";
  message: string;
}

export interface ChainReport {
  tenant: string;
  events: number;
  head: AuditLink;
  findings: ChainFinding[];
}

/** Checks a tenant's chain as it is fed to it, event by event; holds no more than the last link. */
export class ChainCheck {
  readonly #tenant: string;
  readonly #findings: ChainFinding[] = [];
  readonly #receipt: AuditLink | undefined;
  readonly #head: AuditLink | undefined;
  #receiptSeen: string | undefined;
  #headSeen: string | undefined;
  #previous: AuditLink = GENESIS;
  #events = 0;

  /** What was remembered must be found in the chain: the store's head row, and a receipt that was kept elsewhere. */
  constructor(
    tenant: string,
    remembered: { receipt?: AuditLink | undefined; head?: AuditLink | undefined } = {},
  ) {
    this.#tenant = tenant;
    this.#receipt = remembered.receipt;
    this.#head = remembered.head;
  }

  add(entry: AuditEntry): void {
    this.#events += 1;
    if (entry.sequence === this.#receipt?.sequence) this.#receiptSeen = entry.hash;
    if (entry.sequence === this.#head?.sequence) this.#headSeen = entry.hash;
    this.#checkOrder(entry);
    this.#checkLink(entry);
    this.#checkBody(entry);
    this.#previous = { sequence: entry.sequence, hash: entry.hash };
  }

  /** Adds a finding of whoever feeds the chain. */
  find(sequence: number, problem: ChainFinding["problem"], message: string): void {
    this.#findings.push({ sequence, problem, message });
  }

  finish(): ChainReport {
    this.#checkReceipt();
    this.#checkHead();
    return { tenant: this.#tenant, events: this.#events, head: this.#previous, findings: this.#findings };
  }

  #checkHead(): void {
    const head = this.#head;
    const last = this.#previous.sequence;
    if (!head || this.#headSeen === head.hash) return;
    if (head.sequence > last)
      this.find(last + 1, "truncated", `events ${last + 1} to ${head.sequence} are gone`);
    else this.find(head.sequence, "changed", "the event is not the one that was remembered as the newest");
  }

  #checkReceipt(): void {
    const receipt = this.#receipt;
    if (!receipt || this.#receiptSeen === receipt.hash) return;
    if (this.#receiptSeen === undefined)
      this.find(receipt.sequence, "missing", "the receipt's event is not there");
    else this.find(receipt.sequence, "changed", "the event is not the receipt's");
  }

  #checkOrder({ sequence }: AuditEntry): void {
    const expected = this.#previous.sequence + 1;
    if (sequence === expected) return;
    if (sequence > expected) {
      const gone =
        sequence - 1 === expected ? `event ${expected} is` : `events ${expected} to ${sequence - 1} are`;
      this.find(expected, "missing", `${gone} missing`);
      return;
    }
    this.find(sequence, "out_of_order", `event ${sequence} stands where ${expected} should`);
  }

  #checkLink(entry: AuditEntry): void {
    const follows = { sequence: entry.sequence - 1, hash: this.#previous.hash };
    if (linkAfter(follows, entry.body).hash === entry.hash) return;
    const message = `event ${entry.sequence} does not follow from the one before it: one of the two was changed, inserted or moved`;
    this.find(entry.sequence, "changed", message);
  }

  #checkBody(entry: AuditEntry): void {
    const body = parseJsonObject(entry.body);
    if (!body || canonical(body) !== entry.body) {
      this.find(entry.sequence, "not_canonical", `event ${entry.sequence} is not canonical JSON`);
    } else if (body.tenant !== this.#tenant) {
      this.find(entry.sequence, "foreign", `event ${entry.sequence} belongs to another tenant`);
    }
  }
}

function canonical(body: JsonObject): string | undefined {
  try {
    return canonicalJson(body);
  } catch {
    return undefined;
  }
}

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
  const last = report.head.sequence;
  // Events and head are written together: read after the events, the head is at least as new as the last of them.
  const newest = await reader.head(tenant);
  if (report.events === 0 || (newest && newest.sequence >= last)) return report;
  const problem = newest ? ("foreign" as const) : ("missing" as const);
  const message = newest
    ? `events ${newest.sequence + 1} to ${last} stand behind the chain's head`
    : "the chain's head is gone";
  return { ...report, findings: [...report.findings, { sequence: last, problem, message }] };
}
