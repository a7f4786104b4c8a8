import { describe, expect } from "vitest";
import type { Changes } from "../ports/changes.ts";
import type { Store, UnitOfWork } from "../ports/store.ts";
import {
  applied,
  crowd,
  type StoreTest,
  sampleRevocation,
  sampleStandingGrant,
  sampleTool,
  unitOf,
} from "./store-samples.ts";

/** Something that readers follow by a cursor. */
interface Followed {
  what: string;
  /** A unit that makes a new one, or with a revision changes it. Left out: it never changes. */
  writing(id: string, revision?: number): UnitOfWork;
  changes: boolean;
  /** Ids, each with its revision. */
  since(store: Store, cursor?: string): Promise<Changes<string>>;
}

const told = async <Record>(found: Promise<Changes<Record>>, nameOf: (record: Record) => string) => {
  const { changed, cursor } = await found;
  return { changed: changed.map(nameOf), cursor };
};

const onto = (revision: number) => revision > 1 && { expect: revision - 1 };

const FOLLOWED: Followed[] = [
  {
    what: "tool versions",
    writing: (id, revision = 1) =>
      unitOf({ tools: [{ record: { ...sampleTool(id, "1.0.0"), revision }, ...onto(revision) }] }),
    changes: true,
    since: ({ tools }, cursor) =>
      told(tools.changedSince(cursor), ({ manifest, revision }) => `${manifest.id} ${revision}`),
  },
  {
    what: "grants",
    writing: (grantId, revision = 1) =>
      unitOf({ grants: [{ record: sampleStandingGrant({ grantId, revision }), ...onto(revision) }] }),
    changes: true,
    since: ({ grants }, cursor) =>
      told(grants.changedSince(cursor), ({ grantId, revision }) => `${grantId} ${revision}`),
  },
  {
    what: "revocations",
    writing: (jti) => unitOf({ revocations: [sampleRevocation({ jti })] }),
    changes: false,
    since: ({ revocations }, cursor) => told(revocations.changedSince(cursor), ({ jti }) => `${jti} 1`),
  },
];

/** A reader that asks again with the cursor it was given misses nothing; it may be told a change twice. */
export function changesContract(it: StoreTest): void {
  describe.for(FOLLOWED)("of $what", ({ writing, since, changes }) => {
    it("are all there are without a cursor, in the order they were made", async ({ store }) => {
      const empty = await since(store);
      expect(empty.changed).toEqual([]);
      for (const id of ["b", "a", "c"]) await applied(store, writing(id));
      if (changes) await applied(store, writing("b", 2));
      const all = [changes ? "b 2" : "b 1", "a 1", "c 1"];
      expect((await since(store)).changed).toEqual(all);
      expect((await since(store, empty.cursor)).changed).toEqual(all);
    });

    it("hold every later one behind a cursor, each once at its newest [L3P2-4]", async ({ store }) => {
      await applied(store, writing("a"));
      await applied(store, writing("b"));
      const { cursor } = await since(store);
      await applied(store, writing("c"));
      if (changes) for (const revision of [2, 3]) await applied(store, writing("a", revision));
      const { changed } = await since(store, cursor);
      expect(changed).toEqual(expect.arrayContaining(changes ? ["a 3", "c 1"] : ["c 1"]));
      expect(new Set(changed).size).toBe(changed.length);
    });

    it("come to a reader that asks while others write, whatever the order of the commits", async ({
      store,
    }) => {
      const seen = new Set<string>();
      let cursor: string | undefined;
      const follow = async () => {
        const found = await since(store, cursor);
        for (const each of found.changed) seen.add(each);
        cursor = found.cursor;
      };
      const ids = crowd(40, (n) => `n${n}`);
      await Promise.all(ids.flatMap((id) => [applied(store, writing(id)), follow().catch(() => undefined)]));
      await follow();
      expect([...seen].sort()).toEqual(ids.map((id) => `${id} 1`).sort());
    });
  });

  it("of grants are not their uses", async ({ store }) => {
    const record = sampleStandingGrant();
    await applied(store, unitOf({ grants: [{ record }] }));
    const { cursor } = await store.grants.changedSince();
    await applied(store, unitOf({ grantUses: [{ grantId: record.grantId, at: 5 }] }));
    const { changed } = await store.grants.changedSince(cursor);
    expect(changed.filter(({ revision }) => revision > 1)).toEqual([]);
  });
}
