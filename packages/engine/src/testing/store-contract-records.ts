import { expect } from "vitest";
import type { RecordWrite } from "../ports/records.ts";
import type { UnitOfWork } from "../ports/store.ts";
import {
  applied,
  contentsOf,
  crowd,
  refusal,
  type StoreTest,
  sampleCall,
  sampleRecord,
  unitOf,
  writing,
} from "./store-samples.ts";

const keeping = (...records: RecordWrite[]): UnitOfWork => unitOf({ records, audit: "{}" });

/** Small documents that every process has; each changes by a write made on its newest revision, or whatever is there. */
export function recordsContract(it: StoreTest): void {
  it("are kept as they were written, and count their writes", async ({ store }) => {
    const body = '{"a":"\uffff \u{1f600} \u2028 \\\\"}';
    expect(await store.records.get("sample", "a")).toBeUndefined();
    await applied(store, keeping(sampleRecord({ id: "a", body })));
    expect(await store.records.get("sample", "a")).toEqual({ kind: "sample", id: "a", body, revision: 1 });
    const later = { id: "a", body: "", expiresAt: Date.UTC(2090, 0, 1) };
    await applied(store, keeping(sampleRecord(later)));
    expect(await store.records.get("sample", "a")).toEqual({ kind: "sample", ...later, revision: 2 });
    await applied(store, keeping(sampleRecord({ id: "a" })));
    expect(await store.records.get("sample", "a")).toEqual({ ...sampleRecord({ id: "a" }), revision: 3 });
  });

  it("change only on the revision that a write expects, and nothing else of its unit is kept", async ({
    store,
  }) => {
    await applied(store, keeping(sampleRecord({ id: "a", expect: 0 })));
    await applied(store, keeping(sampleRecord({ id: "a", body: "2", expect: 1 })));
    const before = await contentsOf(store);
    for (const [id, stale] of [
      ["a", 0],
      ["a", 1],
      ["a", 3],
      ["b", 1],
    ] as const) {
      const unit = {
        ...keeping(sampleRecord({ id: "c" }), sampleRecord({ id, expect: stale })),
        open: sampleCall(),
      };
      expect(await refusal(store, unit)).toEqual({ kind: "record", of: "sample", id });
    }
    expect(await refusal(store, keeping(sampleRecord({ id: "a", body: null, expect: 1 })))).toMatchObject({
      id: "a",
    });
    expect(await contentsOf(store)).toEqual(before);
  });

  it("have one winner when many expect the same revision", async ({ store }) => {
    await applied(store, keeping(sampleRecord({ id: "a" })));
    const units = crowd(9, (n) => keeping(sampleRecord({ id: "a", body: `${n}`, expect: 1 })));
    const results = await Promise.all(units.map((unit) => store.commit(unit)));
    expect(results.filter(({ ok }) => ok)).toHaveLength(1);
    const winner = results.findIndex(({ ok }) => ok);
    expect(await store.records.get("sample", "a")).toMatchObject({ body: `${winner}`, revision: 2 });
  });

  it("follow each other within a unit, and begin anew once they are deleted", async ({ store }) => {
    const write = (body: string | null, expected?: number) =>
      sampleRecord({ id: "a", body, ...(expected !== undefined && { expect: expected }) });
    await applied(store, keeping(write("1", 0), write("2", 1), write(null, 2), write("3", 0)));
    expect(await store.records.get("sample", "a")).toMatchObject({ body: "3", revision: 1 });
    await applied(store, keeping(write(null, 1)));
    expect(await store.records.get("sample", "a")).toBeUndefined();
    await applied(store, keeping(write(null), write(null, 0)));
    expect(await store.records.list("sample", { limit: 9 })).toEqual([]);
  });

  it("are not there any more once they have expired, by the clock of the store", async ({
    fixture,
    skip,
  }) => {
    const { store, advance } = fixture;
    if (!advance) return skip("the clock of this store cannot be moved");
    const [soon, later] = [Date.UTC(2026, 0, 1, 0, 1), Date.UTC(2090, 0, 1)];
    const old = sampleRecord({ id: "old", expiresAt: soon });
    await applied(store, keeping(old, sampleRecord({ id: "new", expiresAt: later })));
    await advance(Math.max(60_000, Date.now() - soon));
    expect(await store.records.get("sample", "old")).toBeUndefined();
    expect(await store.records.list("sample", { limit: 9 })).toMatchObject([{ id: "new" }]);
    expect(await refusal(store, keeping({ ...old, expect: 1 }))).toMatchObject({ kind: "record", id: "old" });
    await applied(store, keeping({ ...old, expect: 0, expiresAt: later }));
    expect(await store.records.get("sample", "old")).toMatchObject({ revision: 1, expiresAt: later });
  });

  it("are listed by id, a page at a time, each kind on its own", async ({ store }) => {
    const ids = ["", "A", "a", "a/b", "b", "\uffff", "\u{1f600}"];
    for (const id of ids.toReversed())
      await applied(store, keeping(sampleRecord({ id }), sampleRecord({ id, kind: "other", body: "x" })));
    const idsOf = async (page: { after?: string; limit: number }) =>
      (await store.records.list("sample", page)).map(({ id }) => id);
    expect(await idsOf({ limit: 99 })).toEqual(ids);
    expect(await idsOf({ limit: 2 })).toEqual(ids.slice(0, 2));
    expect(await idsOf({ after: "A", limit: 3 })).toEqual(ids.slice(2, 5));
    expect(await idsOf({ after: "aa", limit: 1 })).toEqual(["b"]);
    expect(await idsOf({ after: "\u{1f600}", limit: 9 })).toEqual([]);
    expect(await idsOf({ limit: 0 })).toEqual([]);
    expect(await store.records.list("nobody", { limit: 9 })).toEqual([]);
    await applied(store, keeping(sampleRecord({ id: "a", body: null })));
    expect(await store.records.get("other", "a")).toMatchObject({ body: "x" });
  });

  it.for([
    ["kind", "\ud800"],
    ["id", "a\0b"],
    ["body", "\udfff"],
    ["body", "\0"],
  ] as const)("reject a %s that is not text every store can keep", async ([field, text], { store }) => {
    await expect(store.commit(keeping(sampleRecord({ id: "a", [field]: text })))).rejects.toThrow(/U\+0000/);
    expect(await store.records.list("sample", { limit: 9 })).toEqual([]);
  });

  it("conflict before state does", async ({ store }) => {
    const scope = { tenant: "acme", tool: "calc" };
    await applied(store, writing(scope, { version: 0 }, { k: 1 }));
    const late = writing(scope, { version: 0 }, { k: 2 });
    expect(await refusal(store, late)).toMatchObject({ kind: "state" });
    const both = { ...late, records: [sampleRecord({ expect: 7 })] };
    expect(await refusal(store, both)).toMatchObject({ kind: "record" });
  });

  it("survive the store's closing", async ({ store, fixture, skip }) => {
    if (!fixture.reopen) return skip("nothing of this store survives");
    await applied(store, keeping(sampleRecord({ id: "a" }), sampleRecord({ id: "a", body: "2" })));
    const again = await fixture.reopen();
    expect(await again.records.get("sample", "a")).toMatchObject({ body: "2", revision: 2 });
  });
}
