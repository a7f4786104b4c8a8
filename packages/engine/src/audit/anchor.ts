import { canonicalJson, isJsonObject, type JsonObject } from "@sallyport/protocol";
import type { Clock, Ids } from "../ports/platform.ts";
import type { AuditEntry, AuditLink, Store } from "../ports/store.ts";
import { auditBody, eventsIn } from "./chain.ts";

const ANCHORED = "STRANDS_ANCHORED";
/** What every anchor event holds; no event without it is looked into. */
const MEMBER = '"anchors":[';

/** The event that puts the newest links of other strands on record, so that losing their end is found. */
export function anchorEvent(links: readonly AuditLink[], at: { eventId: string; timestamp: number }): string {
  const anchors = links.map(({ strand, sequence, hash }) => ({ strand, sequence, hash }));
  return canonicalJson({ ...at, anchors, state: ANCHORED });
}

/** The links that a unit anchors; none for most units. */
export function anchorsIn({ body }: Pick<AuditEntry, "body">): AuditLink[] {
  if (!body.includes(MEMBER)) return [];
  return eventsIn(body).filter(isAnchor).flatMap(linksOf);
}

function isAnchor({ state }: JsonObject): boolean {
  return state === ANCHORED;
}

function linksOf({ anchors }: JsonObject): AuditLink[] {
  if (!Array.isArray(anchors)) return [];
  return anchors
    .filter(isJsonObject)
    .flatMap(({ strand, sequence, hash }) =>
      isCount(strand) && isCount(sequence) && typeof hash === "string" ? [{ strand, sequence, hash }] : [],
    );
}

function isCount(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}

interface AnchorContext {
  store: Pick<Store, "audit" | "commit">;
  clock: Pick<Clock, "now">;
  ids: Ids;
  /** The strand that this process writes now. */
  strand: () => number;
}

/** So many units of another strand are looked at to tell work from anchors. */
const LOOKED_AT = 16;

/**
 * Anchors the strands of each tenant into the strand that this process writes. A tenant with one strand has nothing to
 * anchor. What was anchored last is remembered: a strand that has only got anchors since is not anchored again, otherwise
 * idle processes would anchor each other's anchors for ever.
 */
export class StrandAnchors {
  readonly #context: AnchorContext;
  /** By tenant and strand: the newest unit that was anchored. */
  readonly #anchored = new Map<string, Map<number, number>>();

  constructor(context: AnchorContext) {
    this.#context = context;
  }

  /** Writes the anchors that are due, and says how many tenants got one. Rejects when the store is lost. */
  async write(): Promise<number> {
    let written = 0;
    for (const tenant of await this.#context.store.audit.tenants()) {
      if (await this.#anchor(tenant)) written += 1;
    }
    return written;
  }

  async #anchor(tenant: string): Promise<boolean> {
    const { store, clock, ids } = this.#context;
    const own = this.#context.strand();
    const heads = await store.audit.heads(tenant);
    const others = heads.filter(({ strand }) => strand !== own);
    // A process that writes nothing for the tenant starts no strand of it; slot 0 does it for those that are gone.
    if (heads.length < 2 || (own !== 0 && others.length === heads.length)) return false;
    if (!(await this.#hasWork(tenant, others))) return false;
    const event = anchorEvent(others, { eventId: ids.next(), timestamp: clock.now() });
    const result = await store.commit({ tenant, strand: own, audit: auditBody(tenant, [event]) });
    if (!result.ok) return false;
    this.#anchored.set(tenant, new Map(others.map(({ strand, sequence }) => [strand, sequence])));
    return true;
  }

  async #hasWork(tenant: string, heads: readonly AuditLink[]): Promise<boolean> {
    const anchored = this.#anchored.get(tenant);
    for (const { strand, sequence } of heads) {
      const after = anchored?.get(strand) ?? 0;
      if (sequence <= after) continue;
      const units = await this.#context.store.audit.read(tenant, { strand, after, limit: LOOKED_AT });
      if (units.length >= LOOKED_AT || units.some((unit) => anchorsIn(unit).length === 0)) return true;
    }
    return false;
  }
}
