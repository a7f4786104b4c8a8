import type { Work, WorkKind } from "../ports/fleet.ts";
import type { Store } from "../ports/store.ts";

const PAGE = 100;

/** Everything of a kind that this instance can claim now, a page at a time. What others claim meanwhile is not in it. */
export async function* claimAll<Kind extends WorkKind>(
  kind: Kind,
  { store, owner }: { store: Pick<Store, "work">; owner: string },
): AsyncGenerator<Work[Kind]> {
  for (;;) {
    const claimed = await store.work.claim({ kind, instance: owner, limit: PAGE });
    yield* claimed;
    if (claimed.length < PAGE) return;
  }
}
