import type { AuditEntry, AuditLink } from "../ports/store.ts";
import { anchorsIn } from "./anchor.ts";

/** A link that a unit of another strand names. */
interface Anchor extends AuditLink {
  by: AuditLink;
}

/** A strand that is not as another strand has anchored it. */
export interface BrokenAnchor {
  strand: number;
  sequence: number;
  problem: "changed" | "missing" | "truncated";
  message: string;
}

/**
 * Compares every anchor of a tenant's record with the unit it names, whichever of the two is read first. Hashes of units
 * are kept for that, 32 bytes each, unless the tenant is known to have one strand.
 */
export class AnchorCheck {
  readonly #hashes = new Map<number, HashLog>();
  /** By strand: anchors of units that were not read yet. */
  readonly #waiting = new Map<number, Map<number, Anchor[]>>();
  /** By strand: the first anchor that does not fit, and how many do not. */
  readonly #wrong = new Map<number, { first: Anchor; count: number }>();
  readonly #keepsHashes: boolean;

  constructor({ keepsHashes }: { keepsHashes: boolean }) {
    this.#keepsHashes = keepsHashes;
  }

  add(entry: AuditEntry): void {
    const { strand, sequence, hash } = entry;
    if (this.#keepsHashes) this.#logOf(strand).push(sequence, hash);
    const waiting = this.#waiting.get(strand);
    for (const anchor of waiting?.get(sequence) ?? []) this.#compare(anchor, hash);
    waiting?.delete(sequence);
    for (const link of anchorsIn(entry)) {
      const anchor = { ...link, by: { strand, sequence, hash } };
      const known = this.#hashes.get(link.strand)?.at(link.sequence);
      if (known === undefined) this.#wait(anchor);
      else this.#compare(anchor, known);
    }
  }

  /**
   * What does not hold, at most two findings a strand. `lastOf` is the last sequence that was read of a strand; anchors of
   * one for which it is undefined are left.
   */
  findings(lastOf: (strand: number) => number | undefined): BrokenAnchor[] {
    const wrong = [...this.#wrong.values()].map(({ first, count }): BrokenAnchor => {
      const others = count === 1 ? "" : `; ${count - 1} later anchors do not fit either`;
      const message = `unit ${first.sequence} is not the one that ${nameOf(first.by)} anchors${others}`;
      return { strand: first.strand, sequence: first.sequence, problem: "changed", message };
    });
    const gone = [...this.#waiting].flatMap(([strand, anchors]): BrokenAnchor[] => {
      const last = lastOf(strand);
      const newest = [...anchors.values()].flat().reduce(newer, undefined);
      if (!newest || last === undefined || newest.sequence <= last) return [];
      const by = `${nameOf(newest.by)} anchors unit ${newest.sequence}`;
      if (last === 0)
        return [{ strand, sequence: 1, problem: "missing", message: `the strand is gone: ${by}` }];
      const message = `units ${last + 1} to ${newest.sequence} are gone: ${by}`;
      return [{ strand, sequence: last + 1, problem: "truncated", message }];
    });
    return [...wrong, ...gone];
  }

  #logOf(strand: number): HashLog {
    const log = this.#hashes.get(strand) ?? new HashLog();
    this.#hashes.set(strand, log);
    return log;
  }

  #wait(anchor: Anchor): void {
    const anchors = this.#waiting.get(anchor.strand) ?? new Map<number, Anchor[]>();
    this.#waiting.set(anchor.strand, anchors);
    anchors.set(anchor.sequence, [...(anchors.get(anchor.sequence) ?? []), anchor]);
  }

  #compare(anchor: Anchor, hash: string): void {
    if (anchor.hash === hash) return;
    const known = this.#wrong.get(anchor.strand);
    const first = known && known.first.sequence <= anchor.sequence ? known.first : anchor;
    this.#wrong.set(anchor.strand, { first, count: (known?.count ?? 0) + 1 });
  }
}

function nameOf({ strand, sequence }: AuditLink): string {
  return `unit ${sequence} of strand ${strand}`;
}

function newer(one: Anchor | undefined, other: Anchor): Anchor {
  return one && one.sequence >= other.sequence ? one : other;
}

const HASH_BYTES = 32;

/** The hashes of units that follow one another, close together in memory. */
class HashLog {
  #first = 0;
  #count = 0;
  #bytes = Buffer.alloc(64 * HASH_BYTES);

  /** A unit that is out of order is left out: the check of its chain finds it. */
  push(sequence: number, hash: string): void {
    if (this.#count === 0) this.#first = sequence;
    if (sequence !== this.#first + this.#count) return;
    const at = this.#count * HASH_BYTES;
    if (at === this.#bytes.length) this.#bytes = Buffer.concat([this.#bytes, Buffer.alloc(at)]);
    this.#bytes.write(hash, at, HASH_BYTES, "hex");
    this.#count += 1;
  }

  at(sequence: number): string | undefined {
    const index = sequence - this.#first;
    if (index < 0 || index >= this.#count) return undefined;
    return this.#bytes.toString("hex", index * HASH_BYTES, (index + 1) * HASH_BYTES);
  }
}
