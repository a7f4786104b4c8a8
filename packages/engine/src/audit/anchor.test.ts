import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createMemoryStore } from "../memory/store.ts";
import type { AuditEntry, AuditReader, Store } from "../ports/store.ts";
import { applied, chainOf, unitOf } from "../testing/store-samples.ts";
import { StrandAnchors } from "./anchor.ts";
import { auditBody } from "./chain.ts";
import { closingLine, ExportCheck, exportEntry, openingLine } from "./export.ts";
import { auditEntries } from "./read.ts";
import { verifyChain } from "./verify.ts";

/** A store on which processes write strands of their own. */
function open() {
  const store = createMemoryStore();
  let made = 0;
  const process = (strand: number) => {
    const ids = { next: () => `id-${made++}` };
    const clock = { now: () => 1_700_000_000_000 };
    const anchors = new StrandAnchors({ store, clock, ids, strand: () => strand });
    const work = async (tenant = "acme") => {
      const event = JSON.stringify({ eventId: ids.next(), state: "DECLARED", timestamp: 5 });
      await applied(store, unitOf({ tenant, strand, audit: auditBody(tenant, [event]) }));
    };
    return { anchors, work };
  };
  return { store, process };
}

/** The record without some of its units, and with heads that know nothing of them. */
function without(reader: AuditReader, isGone: (entry: AuditEntry) => boolean): AuditReader {
  const read: AuditReader["read"] = async (tenant, page) =>
    (await reader.read(tenant, page)).filter((entry) => !isGone(entry));
  const heads: AuditReader["heads"] = async (tenant) => {
    const strands = (await reader.heads(tenant)).map(({ strand }) => strand);
    const newest = strands.map(async (strand) =>
      (await read(tenant, { strand, after: 0, limit: 9_999 })).slice(-1).map(({ body: _, ...link }) => link),
    );
    return (await Promise.all(newest)).flat();
  };
  return { ...reader, heads, read };
}

async function exported(store: Pick<Store, "audit">): Promise<AuditEntry[]> {
  const entries: AuditEntry[] = [];
  for await (const entry of auditEntries(store.audit, "acme")) entries.push(entry);
  return entries;
}

/** What the check of an export of these units finds; its closing line fits them. */
function checkExport(entries: readonly AuditEntry[], opening?: string) {
  const check = new ExportCheck();
  if (opening !== undefined) check.add(opening);
  for (const entry of entries) for (const event of exportEntry(entry)) check.add(JSON.stringify(event));
  const last = new Map(entries.map(({ body: _, ...link }) => [link.strand, link]));
  const strands = [...last.values()].map((link) => {
    const events = entries.filter(({ strand }) => strand === link.strand).length;
    return { tenant: "acme", ...link, events };
  });
  check.add(closingLine(strands));
  const { chains, problems } = check.finish();
  return [...problems, ...chains.flatMap(({ findings }) => findings)];
}

describe("strands of one tenant", () => {
  it("are not anchored where there is one, nor by a process that writes none of them [L3-AUD-1]", async () => {
    const { store, process } = open();
    const [first, second, third] = [process(0), process(1), process(2)];
    await first.work();
    await second.work("other");
    expect([await first.anchors.write(), await second.anchors.write()]).toEqual([0, 0]);
    await second.work();
    expect(await third.anchors.write()).toBe(0);
    expect(await store.audit.heads("acme")).toMatchObject([{ sequence: 1 }, { strand: 1, sequence: 1 }]);
  });

  it("are anchored into each other until nothing but anchors is new [L3-AUD-1]", async () => {
    const { store, process } = open();
    const all = [process(0), process(1), process(2)];
    for (const { work } of all) await work();
    const round = async () => {
      let written = 0;
      for (const { anchors } of all) written += await anchors.write();
      return written;
    };
    expect(await round()).toBe(3);
    expect([await round(), await round(), await round()]).toEqual([0, 0, 0]);
    await all[1]?.work();
    expect(await round()).toBe(2);
    expect(await round()).toBe(0);
    const strands = [0, 1, 2].map((strand) => ({ strand, sequence: 3 }));
    expect(await verifyChain(store.audit, "acme")).toMatchObject({ events: 9, strands, findings: [] });
    expect(checkExport(await exported(store))).toEqual([]);
  });

  it("are anchored by slot 0 when the processes that wrote them are gone", async () => {
    const { store, process } = open();
    for (const strand of [1, 2]) await process(strand).work();
    expect(await process(0).anchors.write()).toBe(1);
    expect(await process(0).anchors.write()).toBe(1);
    expect(await verifyChain(store.audit, "acme")).toMatchObject({ findings: [] });
  });

  it("show a missing end and a missing strand, in the store and in an export [R1-8.1] [L3-AUD-1]", async () => {
    const { store, process } = open();
    const [first, second] = [process(0), process(1)];
    for (const { work } of [first, second, second, second]) await work();
    await first.anchors.write();
    const cut = ({ strand, sequence }: AuditEntry) => strand === 1 && sequence > 1;
    const gone = ({ strand }: AuditEntry) => strand === 1;
    const truncated = {
      strand: 1,
      sequence: 2,
      problem: "truncated",
      message: /units 2 to 3.*unit 2 of strand 0/,
    };
    const missing = {
      strand: 1,
      sequence: 1,
      problem: "missing",
      message: /strand is gone.*unit 2 of strand 0/,
    };
    for (const [isGone, { message, ...finding }] of [
      [cut, truncated],
      [gone, missing],
    ] as const) {
      const found = [{ ...finding, message: expect.stringMatching(message) }];
      const { findings } = await verifyChain(without(store.audit, isGone), "acme");
      expect(findings).toMatchObject(found);
      expect(checkExport((await exported(store)).filter((entry) => !isGone(entry)))).toMatchObject(found);
    }
  });

  it("are left in an export that goes on elsewhere, where it neither holds nor states the strand [L3-AUD-1]", async () => {
    const { store, process } = open();
    const [first, second] = [process(0), process(1)];
    for (const { work } of [first, second, second]) await work();
    await first.anchors.write();
    const isOfMonth = ({ strand, sequence }: AuditEntry) => strand === 0 && sequence > 1;
    const entries = await exported(store);
    const month = entries.filter(isOfMonth);
    const before = entries.filter((entry) => !isOfMonth(entry)).map((link) => ({ tenant: "acme", ...link }));
    const [own, , silent] = before;
    const find = (...after: typeof before) => checkExport(month, openingLine(after));
    expect(find(...(own ? [own] : []))).toEqual([]);
    expect(find(...(own && silent ? [own, silent] : []))).toEqual([]);
    // What it states counts: the unit that the anchor names is gone from the end of the archived part.
    expect(find(...before.slice(0, 2))).toMatchObject([{ strand: 1, problem: "truncated" }]);
  });

  it.each([0, 1])(
    "show that strand %i was written anew from a unit on [R1-8.1] [L3-AUD-1]",
    async (strand) => {
      const { store, process } = open();
      const both = [process(0), process(1)] as const;
      const [forged, other] = strand === 0 ? both : both.toReversed();
      for (const one of [forged, other, forged]) await one?.work();
      for (let times = 0; times < 3; times += 1) {
        await other?.anchors.write();
        await forged?.work();
      }
      const genuine = (await exported(store)).filter((entry) => entry.strand === strand);
      const bodies = genuine.map(({ body }, index) =>
        index === 1 ? body.replace("DECLARED", "COMPLETED") : body,
      );
      const rewritten = chainOf(bodies, strand);
      const reader: AuditReader = {
        ...store.audit,
        heads: async (tenant) =>
          (await store.audit.heads(tenant)).map((head) =>
            head.strand === strand ? (rewritten.at(-1) ?? head) : head,
          ),
        read: async (tenant, page) =>
          page.strand === strand
            ? rewritten.filter(({ sequence }) => sequence > page.after)
            : await store.audit.read(tenant, page),
      };
      const message = expect.stringMatching(/unit 2 is not the one that .*; 2 later anchors/);
      const changed = [{ strand, sequence: 2, problem: "changed", message }];
      expect((await verifyChain(reader, "acme")).findings).toMatchObject(changed);
      expect(checkExport(await exported({ audit: reader }))).toMatchObject(changed);
    },
  );

  it("are read up to what is anchored while they are read [L3-AUD-1]", async () => {
    const { store, process } = open();
    const [first, second] = [process(0), process(1)];
    for (const { work } of [first, second]) await work();
    const busy = (): AuditReader => {
      let left = 3;
      return {
        ...store.audit,
        read: async (tenant, page) => {
          if (page.strand === 1 && left > 0) {
            left -= 1;
            for (const step of [first.work, second.work, first.anchors.write.bind(first.anchors)])
              await step();
            await second.anchors.write();
          }
          return await store.audit.read(tenant, page);
        },
      };
    };
    expect((await verifyChain(busy(), "acme")).findings).toEqual([]);
    expect(checkExport(await exported({ audit: busy() }))).toEqual([]);
  });

  it("show the loss of any unit that is anchored, and nothing else [R1-8.1] [L3-AUD-1]", async () => {
    const step = fc.record({ strand: fc.nat(2), isAnchor: fc.boolean() });
    const lost = fc.record({ strand: fc.nat(2), after: fc.nat(6) });
    const run = fc.asyncProperty(
      fc.array(step, { minLength: 4, maxLength: 24 }),
      lost,
      async (steps, cut) => {
        const { store, process } = open();
        const all = [process(0), process(1), process(2)] as const;
        for (const { strand, isAnchor } of steps) {
          if (isAnchor) await all[strand]?.anchors.write();
          else await all[strand]?.work();
        }
        const isGone = ({ strand, sequence }: AuditEntry) => strand === cut.strand && sequence > cut.after;
        // An anchor that is lost itself shows nothing any more.
        const left = (await exported(store)).filter((entry) => !isGone(entry));
        const anchored = left.flatMap(anchorsOf).filter((link) => link.strand === cut.strand);
        const isShown = anchored.some(({ sequence }) => sequence > cut.after);
        const { findings } = await verifyChain(without(store.audit, isGone), "acme");
        expect(findings.length > 0).toBe(isShown);
      },
    );
    await fc.assert(run, { numRuns: 100 });
  });
});

function anchorsOf({ body }: AuditEntry): { strand: number; sequence: number }[] {
  const { events } = JSON.parse(body) as { events: { anchors?: { strand: number; sequence: number }[] }[] };
  return events.flatMap(({ anchors = [] }) => anchors);
}
