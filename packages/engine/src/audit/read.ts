import type { JsonObject } from "@sallyport/protocol";
import type { AuditEntry, AuditReader } from "../ports/store.ts";
import { anchorsIn } from "./anchor.ts";
import { eventsIn } from "./chain.ts";

const PAGE = 1_000;

/** Every unit of one strand in order, whatever its sequence, a page at a time. Units that come meanwhile are included. */
export async function* strandEntries(
  reader: AuditReader,
  tenant: string,
  from: { strand: number; after: number },
): AsyncGenerator<AuditEntry> {
  const { strand } = from;
  for (let after = from.after, isMore = true; isMore; ) {
    const page = await reader.read(tenant, { strand, after, limit: PAGE });
    yield* page;
    const last = page.at(-1)?.sequence ?? after;
    // Forged numbers may be too large to be told apart.
    isMore = page.length >= PAGE && last > after;
    after = last;
  }
}

/**
 * Every unit of a tenant, strand after strand; then those that were written and anchored by other strands while their own
 * had been read already, so that who reads all of it finds what each anchor names.
 */
export async function* auditEntries(reader: AuditReader, tenant: string): AsyncGenerator<AuditEntry> {
  const read = new Map<number, number>();
  const anchored = new Map<number, number>();
  for (let strands = await reader.strands(tenant); strands.length > 0; ) {
    for (const strand of strands) {
      const after = read.get(strand) ?? Number.NEGATIVE_INFINITY;
      for await (const entry of strandEntries(reader, tenant, { strand, after })) {
        read.set(strand, entry.sequence);
        for (const link of anchorsIn(entry)) {
          anchored.set(link.strand, Math.max(link.sequence, anchored.get(link.strand) ?? 0));
        }
        yield entry;
      }
    }
    const unread = [...anchored].filter(([strand, sequence]) => sequence > (read.get(strand) ?? 0));
    strands = unread.map(([strand]) => strand);
    anchored.clear();
  }
}

/** An event with its place: `index` counts the events of its unit from 1. */
export interface RecordedEvent {
  strand: number;
  sequence: number;
  index: number;
  event: JsonObject;
}

/** The events of a unit, each with its place. */
export function eventsOf({ strand, sequence, body }: AuditEntry): RecordedEvent[] {
  return eventsIn(body).map((event, at) => ({ strand, sequence, index: at + 1, event }));
}

/** Every event of a tenant, strand after strand: the one way from units to events. */
export async function* auditEvents(reader: AuditReader, tenant: string): AsyncGenerator<RecordedEvent> {
  for await (const entry of auditEntries(reader, tenant)) yield* eventsOf(entry);
}
