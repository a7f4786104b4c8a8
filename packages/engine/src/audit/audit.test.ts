import { readFileSync } from "node:fs";
import { canonicalJson, failure, type JsonValue } from "@sallyport/protocol";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { AuditEntry } from "../ports/store.ts";
import { chainOf } from "../testing/store-samples.ts";
import { auditBody, eventsIn, linkAfter } from "./chain.ts";
import { type EventFacts, type EventKind, EventWriter } from "./event.ts";
import { closingLine, ExportCheck, type ExportReport, exportEntry, importLine } from "./export.ts";
import { ChainCheck } from "./verify.ts";

const facts: EventFacts = {
  call: { callId: "c1", tenant: "acme", agent: "agent", tool: "tool", version: "1.0.0", operation: "run" },
  executionId: "c1",
  inputHash: "0".repeat(64),
};

function unit(kinds: EventKind[], given: EventFacts, at: { ordinal: number; timestamp: number }): string {
  const writer = new EventWriter(given);
  const place = { ordinal: at.ordinal, at: at.timestamp };
  return writer.body(kinds.map((kind) => writer.write(kind, given, place)));
}

/** Units of two events each. */
function chain(length: number, strand = 0): AuditEntry[] {
  const bodies = Array.from({ length }, (_, n) =>
    unit(["DECLARED", "FAILED"], facts, { ordinal: n, timestamp: n }),
  );
  return chainOf(bodies, strand);
}

function verify(entries: AuditEntry[], head = entries.at(-1)) {
  const check = new ChainCheck("acme", { heads: head ? [head] : [] });
  for (const entry of entries) check.add(entry);
  return check.finish().findings;
}

describe("audit event", () => {
  it("is canonical JSON as written, with every field known at that state [R1-8.1]", () => {
    const full: EventFacts = {
      ...facts,
      call: { ...facts.call, tenant: "other", user: "user", session: "s1" },
      chain: "acme",
      userVerified: true,
      outputHash: "1".repeat(64),
      decision: {
        outcome: "allow",
        reason: "granted",
        rules: ["r"],
        capabilities: ["state.read"],
        missing: [],
        policyVersion: "9",
        grants: ["g1"],
        token: {
          jti: "t1",
          issuer: "i",
          kid: "k",
          tool: "*",
          versions: "*",
          agent: "agent",
          tenant: "acme",
          operations: [],
          permissions: { filesystem: [], network: [], credentials: [] },
          issuedAt: 0,
          expiresAt: 1,
        },
      },
      isolation: { runner: "thread", level: "LEVEL_0" },
      durationMs: 12,
      error: failure("E3103"),
      rollback: { verified: true, snapshotHash: "aa", discardedMutations: 2 },
      note: "n",
    };
    for (const some of [facts, full]) {
      for (const kind of [
        "DECLARED",
        "AUTHORIZED",
        "DENIED",
        "COMPLETED",
        "ROLLED_BACK",
        "REFUSED",
      ] as const) {
        const body = unit([kind, "REFUSED"], some, { ordinal: 3, timestamp: 1_700_000_000_000 });
        expect(canonicalJson(JSON.parse(body) as JsonValue)).toBe(body);
      }
    }
    const body = unit(["EXECUTING", "COMPLETED"], full, { ordinal: 5, timestamp: 7 });
    expect(body.match(/"toolId"/g)).toHaveLength(1);
    expect(eventsIn(body)[1]).toMatchObject({
      eventId: "c1:5",
      timestamp: 7,
      toolId: "tool",
      toolVersion: "1.0.0",
      tenant: "acme",
      claimedTenant: "other",
      executionId: "c1",
      state: "COMPLETED",
      userId: "user",
      userVerified: true,
      session: "s1",
      jti: "t1",
      capabilities: ["state.read"],
      duration: 12,
      error: { code: "E3103" },
      inputHash: facts.inputHash,
      outputHash: full.outputHash,
    });
  });

  it("carries no credential that was in an error's text", () => {
    const error = failure("E3907", { message: "tool failed: Authorization: Bearer abcdefghijklmnop.q" });
    const body = unit(["ROLLED_BACK"], { ...facts, error }, { ordinal: 1, timestamp: 1 });
    expect(body).not.toContain("abcdefghij");
  });
});

describe("audit chain", () => {
  it("holds when nothing was touched", () => {
    expect(verify(chain(20))).toEqual([]);
    expect(verify([])).toEqual([]);
  });

  it("finds and names a changed unit, with its events [R1-8.1] [L3-AUD-1] [D-17]", () => {
    const entries = chain(5).map((entry) =>
      entry.sequence === 3 ? { ...entry, body: entry.body.replace("agent", "bgent") } : entry,
    );
    const events = ["DECLARED", "FAILED"].map((state, n) => ({
      index: n + 1,
      state,
      eventId: "c1:2",
      callId: "c1",
    }));
    expect(verify(entries)).toMatchObject([{ strand: 0, sequence: 3, problem: "changed", events }]);
  });

  it("finds a changed event whose own hash was made to fit [R1-8.1]", () => {
    const entries = chain(5);
    const forged = linkAfter(
      entries[1] as AuditEntry,
      (entries[2] as AuditEntry).body.replace("agent", "bgent"),
    );
    expect(verify(entries.with(2, forged))).toMatchObject([{ sequence: 4, problem: "changed" }]);
  });

  it("finds and names a removed event [R1-8.1]", () => {
    expect(verify(chain(5).toSpliced(1, 1))).toMatchObject([
      { sequence: 2, problem: "missing" },
      { sequence: 3, problem: "changed" },
    ]);
  });

  it("finds the end cut off [R1-8.1]", () => {
    const entries = chain(5);
    expect(verify(entries.slice(0, 3), entries.at(-1))).toMatchObject([
      { sequence: 4, problem: "truncated" },
    ]);
  });

  it("finds and names an inserted and a moved event [R1-8.1]", () => {
    const entries = chain(5);
    const [first, second, third] = entries as [AuditEntry, AuditEntry, AuditEntry];
    expect(verify(entries.toSpliced(2, 0, { ...second })).map(({ problem }) => problem)).toContain(
      "out_of_order",
    );
    expect(verify([first, third, second, ...entries.slice(3)]).map(({ sequence }) => sequence)).toContain(2);
  });

  it("finds a strand that was put in the place of another, and a unit of another tenant [R1-8.1]", () => {
    const moved = chain(2, 1).map((entry) => ({ ...entry, strand: 0 }));
    expect(verify(moved)).toMatchObject([{ sequence: 1, problem: "changed" }]);
    expect(verify(chain(2, 1))).toEqual([]);
    const foreign = [
      auditBody("other", ['{"eventId":"e"}']),
      auditBody("acme", ['{"eventId":"e","tenant":"other"}']),
    ];
    expect(verify(chainOf(foreign))).toMatchObject([{ problem: "foreign" }, { problem: "foreign" }]);
    expect(verify(chainOf([auditBody("acme", [])]))).toMatchObject([{ message: "unit 1 has no events" }]);
  });

  it("goes on from bodies of the first format, which are one event each [R1-8.1]", () => {
    const old = [1, 2].map((n) => canonicalJson({ ...OLD_EVENT, eventId: `c0:${n}` }));
    const entries = chainOf([...old, ...chain(2).map(({ body }) => body)]);
    expect(verify(entries)).toEqual([]);
    const changed = entries.with(1, { ...(entries[1] as AuditEntry), body: old[0] ?? "" });
    expect(verify(changed)).toMatchObject([{ sequence: 2, events: [{ index: 1, eventId: "c0:1" }] }]);
    const lines = entries.flatMap((entry) => exportEntry(entry).map((event) => JSON.stringify(event)));
    const { sequence = 0, hash = "" } = entries.at(-1) ?? {};
    expect(
      verifyExport([...lines, closingLine([{ tenant: "acme", strand: 0, events: 6, sequence, hash }])]),
    ).toEqual([]);
    expect(lines.slice(0, 2)).toEqual(OLD_EXPORT.slice(0, 2));
    expect(verifyExport(OLD_EXPORT)).toEqual([]);
    expect(verifyExport(OLD_EXPORT.toSpliced(1, 1)).length).toBeGreaterThan(0);
  });

  it("finds every single tampering of a random kind [R1-8.1]", () => {
    const tampering = fc.record({
      at: fc.nat(9),
      kind: fc.constantFrom("remove", "duplicate", "swap", "body", "hash", "sequence"),
    });
    fc.assert(
      fc.property(tampering, ({ at, kind }) => {
        const entries = chain(10);
        const entry = entries[at] as AuditEntry;
        const tampered = {
          remove: () => entries.toSpliced(at, 1),
          duplicate: () => entries.toSpliced(at, 0, entry),
          swap: () => entries.with(at, entries[(at + 1) % 10] as AuditEntry).with((at + 1) % 10, entry),
          body: () => entries.with(at, { ...entry, body: entry.body.replace('"acme"', '"acmf"') }),
          hash: () =>
            entries.with(at, {
              ...entry,
              hash: `f${entry.hash.slice(1)}`.replace(entry.hash, `e${entry.hash.slice(1)}`),
            }),
          sequence: () => entries.with(at, { ...entry, sequence: entry.sequence + 1 }),
        }[kind]();
        expect(verify(tampered, entries.at(-1)).length).toBeGreaterThan(0);
      }),
    );
  });

  it("finds whatever was changed in an export, and the end cut off [R1-8.1]", () => {
    expect(verifyExport(exported())).toEqual([]);
    const changes: [string, (lines: string[]) => string[]][] = [
      ...["type", "time", "subject", "id", "source", "datacontenttype", "partitionkey"].map(
        (name): [string, (lines: string[]) => string[]] => [
          name,
          (lines) => lines.with(1, (lines[1] ?? "").replace(new RegExp(`"${name}":"[^"]`), `"${name}":"X`)),
        ],
      ),
      ["strand", (lines) => lines.map((line) => line.replace('"strand":0', '"strand":1'))],
      ["index", (lines) => lines.with(1, (lines[1] ?? "").replace('"index":2', '"index":3'))],
      ["common", (lines) => lines.map((line) => line.replace('"common":"agent ', '"common":"'))],
      ["an event of a unit gone", (lines) => lines.toSpliced(1, 1)],
      ["two events of a unit exchanged", (lines) => lines.with(0, lines[1] ?? "").with(1, lines[0] ?? "")],
      ["a strand gone", (lines) => lines.filter((line) => !line.includes('"strand":1,"sequence"'))],
      ["data", (lines) => lines.map((line) => line.replace('"toolId":"tool"', '"toolId":"tool2"'))],
      [
        "a second data member",
        (lines) => lines.with(1, (lines[1] ?? "").replace('"data":', '"data":{"state":"X"},"data":')),
      ],
      [
        "a second member inside data",
        (lines) => lines.with(1, (lines[1] ?? "").replace('"agent":', '"agent":"other","agent":')),
      ],
      ["another member", (lines) => lines.with(1, (lines[1] ?? "").replace("{", '{"note":"x",'))],
      ["white space", (lines) => lines.with(1, `${lines[1]} `)],
      ["an emptied file", () => []],
      ["no closing line", (lines) => lines.slice(0, -1)],
      ["the last event gone", (lines) => lines.toSpliced(-2, 1)],
      ["every event gone", (lines) => lines.slice(-1)],
      [
        "another event count",
        (lines) => lines.with(-1, (lines.at(-1) ?? "").replace('"events":8', '"events":9')),
      ],
      ["a line behind the closing line", (lines) => [...lines, lines[0] ?? ""]],
      ["two closing lines", (lines) => [...lines, lines.at(-1) ?? ""]],
    ];
    for (const [what, change] of changes) {
      expect(verifyExport(change(exported())).length, what).toBeGreaterThan(0);
    }
    expect(() => importLine("{}", 7)).toThrow(/Line 7/);
    expect(() => importLine("not json", 8)).toThrow(/Line 8/);
  });

  it("checks an export of the time before closing lines as far as it goes", () => {
    const { chains, problems } = checkExport(exported().slice(0, -1));
    expect(chains).toMatchObject([{ events: 12, findings: [] }]);
    expect(problems).toEqual([expect.stringContaining("no closing line")]);
  });
});

const OLD_EVENT = { agent: "a", callId: "c0", state: "DECLARED", tenant: "acme", timestamp: 1 };

/** An export of the time when a link was one event, as that code wrote it. */
const OLD_EXPORT = readFileSync(new URL("fixtures/first-format.jsonl", import.meta.url), "utf8").split("\n");

/** Two strands: four units, and two. */
function exported(): string[] {
  const strands = [chain(4), chain(2, 1)];
  const closing = closingLine(
    strands.flatMap((entries) => {
      const { strand = 0, sequence = 0, hash = "" } = entries.at(-1) ?? {};
      return [{ tenant: "acme", strand, events: 2 * entries.length, sequence, hash }];
    }),
  );
  return [
    ...strands.flat().flatMap((entry) => exportEntry(entry).map((event) => JSON.stringify(event))),
    closing,
  ];
}

function checkExport(lines: string[]): ExportReport {
  const check = new ExportCheck();
  for (const line of lines) check.add(line);
  return check.finish();
}

/** Everything that is wrong, in words. */
function verifyExport(lines: string[]): string[] {
  try {
    const { chains, problems } = checkExport(lines);
    return [...problems, ...chains.flatMap(({ findings }) => findings.map(({ message }) => message))];
  } catch (error) {
    return [String(error)];
  }
}
