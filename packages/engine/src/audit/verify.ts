import { canonicalJson, type JsonObject, parseJsonObject } from "@sallyport/protocol";
import type { ArchivedSpan, AuditEntry, AuditLink, AuditReader } from "../ports/store.ts";
import { AnchorCheck } from "./anchor-check.ts";
import { genesis, linkAfter } from "./chain.ts";
import { auditEntries, eventsOf } from "./read.ts";

/** What an event of a unit says of itself, for who has to look into a finding. */
export interface EventOutline {
  index: number;
  eventId: string;
  state: string;
  timestamp?: number;
  callId?: string;
}

/** Something that is wrong with a unit; `events` are those it holds now, as far as they can be read. */
export interface ChainFinding {
  strand: number;
  sequence: number;
  problem: "changed" | "missing" | "out_of_order" | "foreign" | "not_canonical" | "truncated";
  message: string;
  events: EventOutline[];
}

/** A strand as it was read: its newest link, and the number of events in its units. */
export interface StrandReport extends AuditLink {
  events: number;
}

/** What the check of a tenant's record found. */
export interface ChainReport {
  tenant: string;
  events: number;
  strands: StrandReport[];
  findings: ChainFinding[];
  /** What is in the archive and was passed over. Absent when nothing is. */
  archived?: ArchivedSpan[];
}

/** What must be found in the record: the store's heads, and a receipt that was kept elsewhere. */
interface Remembered {
  receipt?: AuditLink | undefined;
  heads?: readonly AuditLink[];
  /** What is in the archive: a strand goes on behind it. */
  archived?: readonly ArchivedSpan[];
  /** The record may go on elsewhere: anchors of strands that it neither holds nor states are left. */
  isPart?: boolean;
  /** The tenant is known to have one strand: then nothing is kept to compare anchors with. */
  isAlone?: boolean;
}

/**
 * Checks a tenant's record as it is fed to it, unit by unit; the units of one strand come in order. Every anchor is
 * compared with the unit of the other strand that it names.
 */
export class ChainCheck {
  readonly #tenant: string;
  readonly #remembered: Remembered;
  readonly #strands = new Map<number, StrandCheck>();
  readonly #findings: ChainFinding[] = [];
  readonly #anchors: AnchorCheck;

  constructor(tenant: string, remembered: Remembered = {}) {
    this.#tenant = tenant;
    this.#remembered = remembered;
    this.#anchors = new AnchorCheck({ keepsHashes: !remembered.isAlone });
    if (remembered.receipt) this.strand(remembered.receipt.strand);
    for (const { strand } of [...(remembered.heads ?? []), ...(remembered.archived ?? [])])
      this.strand(strand);
  }

  add(entry: AuditEntry): void {
    this.strand(entry.strand).add(entry);
    this.#anchors.add(entry);
  }

  /** The check of one strand; from here on the report names the strand. */
  strand(strand: number): StrandCheck {
    const known = this.#strands.get(strand);
    if (known) return known;
    const { receipt, heads = [], archived = [] } = this.#remembered;
    const check = new StrandCheck(this.#tenant, {
      strand,
      receipt: receipt?.strand === strand ? receipt : undefined,
      head: heads.find((head) => head.strand === strand),
      archived: archived.filter((span) => span.strand === strand),
      findings: this.#findings,
    });
    this.#strands.set(strand, check);
    return check;
  }

  strands(): Iterable<StrandCheck> {
    return this.#strands.values();
  }

  finish(): ChainReport {
    for (const { strand, sequence, problem, message } of this.#anchors.findings(
      (one) => this.#strands.get(one)?.last.sequence ?? (this.#remembered.isPart ? undefined : 0),
    )) {
      this.strand(strand).find(sequence, [problem, message]);
    }
    const checks = [...this.#strands].sort(([one], [other]) => one - other);
    const strands = checks.map(([, check]) => check.finish());
    const events = strands.reduce((sum, strand) => sum + strand.events, 0);
    const { archived = [] } = this.#remembered;
    const report = { tenant: this.#tenant, events, strands, findings: this.#findings };
    return archived.length > 0 ? { ...report, archived: [...archived] } : report;
  }
}

interface StrandOptions {
  strand: number;
  receipt: AuditLink | undefined;
  head: AuditLink | undefined;
  archived: readonly ArchivedSpan[];
  /** Takes what is found. */
  findings: ChainFinding[];
}

/** Checks one strand, unit by unit; holds no more than the last link. */
class StrandCheck {
  readonly #tenant: string;
  readonly #options: StrandOptions;
  #receiptSeen: string | undefined;
  #headSeen: string | undefined;
  #previous: AuditLink;
  #events = 0;

  constructor(tenant: string, options: StrandOptions) {
    this.#tenant = tenant;
    this.#options = options;
    this.#previous = genesis(options.strand);
    this.#passArchived();
  }

  get last(): AuditLink {
    return this.#previous;
  }

  add(entry: AuditEntry): void {
    this.#checkOrder(entry);
    this.#checkLink(entry);
    this.#checkBody(entry);
    this.#goOnFrom(entry);
    this.#passArchived();
  }

  /** Adds a finding; `unit` is the unit as it was found, where it was. */
  find(sequence: number, [problem, message]: [ChainFinding["problem"], string], unit?: AuditEntry): void {
    const { strand, findings } = this.#options;
    findings.push({ strand, sequence, problem, message, events: unit ? outlines(unit) : [] });
  }

  finish(): StrandReport {
    this.#checkReceipt();
    this.#checkHead();
    return { ...this.#previous, events: this.#events };
  }

  #goOnFrom({ strand, sequence, hash }: AuditLink): void {
    const { receipt, head } = this.#options;
    if (sequence === receipt?.sequence) this.#receiptSeen = hash;
    if (sequence === head?.sequence) this.#headSeen = hash;
    this.#previous = { strand, sequence, hash };
  }

  /** A part of the strand that is in the archive has to begin behind the unit that was read last. */
  #passArchived(): void {
    const { sequence, hash } = this.#previous;
    const span = this.#options.archived.find(
      ({ after, sequence: end }) => (after?.sequence ?? 0) === sequence && end > sequence,
    );
    if (!span) return;
    if (span.after && span.after.hash !== hash)
      this.find(sequence, ["changed", `unit ${sequence} is not the one that the archive goes on from`]);
    this.#goOnFrom(span);
    this.#passArchived();
  }

  #checkHead(): void {
    const { head } = this.#options;
    const last = this.#previous.sequence;
    if (!head || this.#headSeen === head.hash) return;
    if (head.sequence > last)
      this.find(last + 1, ["truncated", `units ${last + 1} to ${head.sequence} are gone`]);
    else this.find(head.sequence, ["changed", "the unit is not the one that was remembered as the newest"]);
  }

  #checkReceipt(): void {
    const { receipt } = this.#options;
    if (!receipt || this.#receiptSeen === receipt.hash) return;
    if (this.#receiptSeen === undefined) {
      const isArchived = this.#options.archived.some(
        ({ after, sequence }) => receipt.sequence > (after?.sequence ?? 0) && receipt.sequence < sequence,
      );
      const where = isArchived
        ? "in the archive: check the receipt with the export of its month"
        : "not there";
      this.find(receipt.sequence, ["missing", `the receipt's unit is ${where}`]);
    } else this.find(receipt.sequence, ["changed", "the unit is not the receipt's"]);
  }

  #checkOrder(entry: AuditEntry): void {
    const { sequence } = entry;
    const expected = this.#previous.sequence + 1;
    if (sequence === expected) return;
    if (sequence > expected) {
      const gone =
        sequence - 1 === expected ? `unit ${expected} is` : `units ${expected} to ${sequence - 1} are`;
      this.find(expected, ["missing", `${gone} missing`]);
      return;
    }
    this.find(sequence, ["out_of_order", `unit ${sequence} stands where ${expected} should`], entry);
  }

  #checkLink(entry: AuditEntry): void {
    const follows = { ...this.#previous, sequence: entry.sequence - 1 };
    if (linkAfter(follows, entry.body).hash === entry.hash) return;
    const message = `unit ${entry.sequence} does not follow from the one before it: one of the two was changed, inserted or moved`;
    this.find(entry.sequence, ["changed", message], entry);
  }

  #checkBody(entry: AuditEntry): void {
    const body = parseJsonObject(entry.body);
    const events = eventsOf(entry);
    this.#events += events.length;
    if (!body || canonical(body) !== entry.body) {
      this.find(entry.sequence, ["not_canonical", `unit ${entry.sequence} is not canonical JSON`], entry);
    } else if (body.tenant !== this.#tenant || events.some(({ event }) => event.tenant !== this.#tenant)) {
      this.find(entry.sequence, ["foreign", `unit ${entry.sequence} belongs to another tenant`], entry);
    } else if (events.length === 0) {
      this.find(entry.sequence, ["changed", `unit ${entry.sequence} has no events`], entry);
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

function outlines(unit: AuditEntry): EventOutline[] {
  return eventsOf(unit).map(({ index, event: { eventId, state, timestamp, callId } }) => ({
    index,
    eventId: String(eventId),
    state: String(state),
    ...(isTime(timestamp) && { timestamp }),
    ...(typeof callId === "string" && { callId }),
  }));
}

function isTime(value: unknown): value is number {
  return typeof value === "number" && !Number.isNaN(new Date(value).getTime());
}

/** Checks a tenant's whole record against the heads the store remembers, and against a receipt where one is given. */
export async function verifyChain(
  reader: AuditReader,
  tenant: string,
  receipt?: AuditLink,
): Promise<ChainReport> {
  const archived = (await reader.archived?.(tenant)) ?? [];
  // Read before the units, so that those a writer adds meanwhile are not taken for a difference.
  const heads = await reader.heads(tenant);
  const isAlone = (await reader.strands(tenant)).every((strand) => strand === 0);
  const check = new ChainCheck(tenant, { receipt, heads, archived, isAlone });
  for await (const entry of auditEntries(reader, tenant)) check.add(entry);
  // Units and heads are written together: read after the units, a head is at least as new as the last of its strand.
  checkNewest(check, await reader.heads(tenant));
  const report = check.finish();
  // What was archived meanwhile is not missing.
  const since = report.findings.length > 0 ? await reader.archived?.(tenant) : undefined;
  const hasMoved = since !== undefined && JSON.stringify(since) !== JSON.stringify(archived);
  return hasMoved ? await verifyChain(reader, tenant, receipt) : report;
}

/** No unit stands behind the newest head of its strand. */
function checkNewest(check: ChainCheck, heads: readonly AuditLink[]): void {
  for (const { last } of check.strands()) {
    const newest = heads.find(({ strand }) => strand === last.strand);
    if (last.sequence === 0 || (newest && newest.sequence >= last.sequence)) continue;
    const message = newest
      ? `units ${newest.sequence + 1} to ${last.sequence} stand behind the chain's head`
      : "the chain's head is gone";
    check.strand(last.strand).find(last.sequence, [newest ? "foreign" : "missing", message]);
  }
}
