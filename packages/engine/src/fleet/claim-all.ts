import type { HeldWork, Work, WorkKind } from "../ports/fleet.ts";
import type { Store } from "../ports/store.ts";

const PAGE = 100;

/**
 * What this instance can claim of a kind now, a page at a time, at most so many. What others claim meanwhile is not in it.
 */
export async function* claimAll<Kind extends WorkKind>(
  kind: Kind,
  { store, owner }: { store: Pick<Store, "work">; owner: string },
  most = Infinity,
): AsyncGenerator<Work[Kind]> {
  for (let left = most; left > 0; left -= PAGE) {
    const limit = Math.min(PAGE, left);
    const claimed = await store.work.claim({ kind, instance: owner, limit });
    yield* claimed;
    if (claimed.length < limit) return;
  }
}

/** What the store says this instance holds of a kind, but for these calls, a page at a time. */
export async function* heldWork<Kind extends keyof HeldWork>(
  kind: Kind,
  { store, owner }: { store: Pick<Store, "work">; owner: string },
  inHand: Iterable<string>,
): AsyncGenerator<HeldWork[Kind]> {
  const except = [...inHand];
  for (;;) {
    const held = await store.work.held({ kind, instance: owner, limit: PAGE, except });
    except.push(...held.map(({ callId }) => callId));
    yield* held;
    if (held.length < PAGE) return;
  }
}
