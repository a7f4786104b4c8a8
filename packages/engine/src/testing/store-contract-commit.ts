import type { CallAnswer, JsonValue } from "@sallyport/protocol";
import { expect } from "vitest";
import type { Store } from "../ports/store.ts";
import {
  applied,
  batchOf,
  chainOf,
  contentsOf,
  failedClosing,
  linksOf,
  ODD_TEXT,
  opening,
  pendingOf,
  queueing,
  refusal,
  type StoreTest,
  sampleApproval,
  sampleCall,
  sampleCallback,
  sampleCapabilityGrant,
  sampleClosing,
  sampleIntent,
  sampleRecord,
  sampleRevocation,
  sampleStandingGrant,
  sampleTool,
  unitOf,
  writing,
} from "./store-samples.ts";

/** A unit is applied whole or not at all, and a call moves only along its phases. */
export function commitContract(it: StoreTest): void {
  it("may use another tenant's or another agent's idempotency key", async ({ store }) => {
    await applied(store, opening(sampleCall({ idempotencyKey: "k" })));
    await applied(store, opening(sampleCall({ idempotencyKey: "k", tenant: "other" })));
    const last = sampleCall({ idempotencyKey: "k", agent: "agent-2" });
    await applied(store, opening(last));
    const found = await store.calls.byIdempotencyKey({ tenant: "acme", agent: "agent-2", key: "k" });
    expect(found?.callId).toBe(last.callId);
    expect(
      await store.calls.byIdempotencyKey({ tenant: "acme", agent: "agent-2", key: "j" }),
    ).toBeUndefined();
  });

  it("with an id is applied once, and answered the same when it is sent again [D-17]", async ({ store }) => {
    const call = sampleCall();
    const unit = { ...opening(call), id: "u-1", outbox: batchOf([call.callId]) };
    const first = await applied(store, unit);
    expect(first.link).toMatchObject({ sequence: 1 });
    const others = await Promise.all([applied(store, unit), applied(store, unit)]);
    expect(others).toEqual([first, first]);
    expect(await counts(store)).toEqual({ calls: 1, events: 1, messages: 1 });
    expect((await applied(store, { ...opening(sampleCall()), id: "u-2" })).link?.sequence).toBe(2);
  });

  it("is applied once also when it is sent again before it is answered, among others", async ({ store }) => {
    const units = Array.from({ length: 40 }, (_, index) => unitOf({ id: `u-${index}`, audit: "{}" }));
    const results = await Promise.all([...units, ...units].map((unit) => applied(store, unit)));
    expect(results.slice(40)).toEqual(results.slice(0, 40));
    expect(await counts(store)).toMatchObject({ events: 40 });
  });

  it("without an id is applied each time", async ({ store }) => {
    const unit = unitOf({ audit: "{}" });
    await applied(store, unit);
    expect((await applied(store, unit)).link?.sequence).toBe(2);
  });

  it("is checked anew when it was refused the first time", async ({ store }) => {
    const call = sampleIntent();
    const close = { callId: call.callId, phase: "unknown" as const };
    const unit = unitOf({ id: "u", close, audit: "{}" });
    expect(await refusal(store, unit)).toEqual({ kind: "not_open" });
    await applied(store, opening(call));
    expect((await applied(store, unit)).link?.sequence).toBe(2);
  });

  it("closes a call that is executing, and only once", async ({ store }) => {
    const call = sampleIntent();
    const closing = sampleClosing(call.callId);
    await applied(store, opening(call));
    expect(await store.calls.get(call.callId)).toEqual(call);
    await applied(store, unitOf({ close: { callId: call.callId, phase: "closed", closing } }));
    const closed = await store.calls.get(call.callId);
    expect(closed).toMatchObject({ phase: "closed", closing: { status: "success" } });
    const again = unitOf({ close: { callId: call.callId, phase: "unknown" }, audit: "{}" });
    expect(await refusal(store, again)).toEqual({ kind: "not_open" });
    expect(await store.calls.get(call.callId)).toEqual(closed);
  });

  it("takes a call from executing to unknown, and from there only to closed", async ({ store }) => {
    const call = sampleIntent();
    await applied(store, opening(call));
    const unknown = unitOf({ close: { callId: call.callId, phase: "unknown" }, audit: "{}" });
    await applied(store, unknown);
    expect(await store.calls.get(call.callId)).toEqual({ ...call, phase: "unknown" });
    expect(await refusal(store, unknown)).toEqual({ kind: "not_open" });
    const close = { callId: call.callId, phase: "closed", closing: sampleClosing(call.callId) } as const;
    // What was said of the call stands against its late owner; only who knows of the verdict may close it.
    for (const late of [close, { ...close, from: "executing" as const }]) {
      expect(await refusal(store, unitOf({ close: late, audit: "{}" }))).toEqual({ kind: "not_open" });
    }
    expect((await store.calls.get(call.callId))?.phase).toBe("unknown");
    await applied(store, unitOf({ close: { ...close, from: "unknown" } }));
    expect((await store.calls.get(call.callId))?.phase).toBe("closed");
  });

  it("cannot close a call that is not in the journal", async ({ store }) => {
    const close = { callId: "nobody", phase: "closed", closing: sampleClosing("nobody") } as const;
    expect(await refusal(store, unitOf({ close }))).toEqual({ kind: "not_open" });
  });

  it("makes its link the receipt of the call it opens or closes, with the strand [R1-8.1]", async ({
    store,
  }) => {
    const call = sampleCall();
    const { link } = await applied(store, unitOf({ open: call, strand: 3, audit: "{}" }));
    expect(link).toEqual(linksOf(chainOf(["{}"], 3))[0]);
    const receipt = { tenant: "acme", ...link, inputHash: call.inputHash, outputHash: "o".repeat(64) };
    expect((await store.calls.get(call.callId))?.closing?.answer.receipt).toEqual(receipt);
  });

  it("names the digest of committed file effects in the receipt, and not of those a dry run dropped [R1-8.1]", async ({
    store,
  }) => {
    const effects = { root: "/w", files: [], omitted: 0, diffsCut: false, digest: "e".repeat(64) };
    const receiptOf = async (more: Pick<CallAnswer, "effects" | "dryRun">) => {
      const call = sampleIntent();
      const { answer, ...closing } = sampleClosing(call.callId);
      await applied(store, opening(call));
      const kept = { ...closing, answer: { ...answer, ...more } };
      await applied(
        store,
        unitOf({ close: { callId: call.callId, phase: "closed", closing: kept }, audit: "{}" }),
      );
      return (await store.calls.get(call.callId))?.closing?.answer.receipt;
    };
    expect(await receiptOf({ effects })).toMatchObject({ effectsHash: effects.digest });
    expect(await receiptOf({ effects, dryRun: true })).not.toHaveProperty("effectsHash");
    expect(await receiptOf({})).not.toHaveProperty("effectsHash");
  });

  it("gives a call closed later the receipt of its closing, not of its intent", async ({ store }) => {
    const { callId, ...intent } = sampleIntent();
    await applied(store, opening({ callId, ...intent }));
    const { outputHash: _, ...closing } = sampleClosing(callId);
    const close = { callId, phase: "closed", closing } as const;
    const { link } = await applied(store, unitOf({ close, audit: '{"closed":true}' }));
    const receipt = { tenant: "acme", ...link, inputHash: intent.inputHash };
    expect((await store.calls.get(callId))?.closing?.answer.receipt).toEqual(receipt);
  });

  it("keeps copies of all its records with every field, odd text included, and only those [FR-APR-03] [L3-PRM-1]", async ({
    store,
  }) => {
    const odd = `${ODD_TEXT} \ud800`;
    const call = sampleIntent({
      phase: "queued",
      user: ODD_TEXT,
      session: ODD_TEXT,
      agent: ODD_TEXT,
      idempotencyKey: "k",
      attempt: 3,
      callbackUrl: "https://example.com/done?a=\u0000",
      asyncMode: true,
      priority: "high",
    });
    const approvals = [
      sampleApproval(),
      sampleApproval({
        user: odd,
        session: odd,
        input: { [odd]: [1e308, null, odd] },
        effects: { files: [odd] },
        votes: [{ by: odd, level: 1, at: 5, digest: "d", comment: odd }],
      }),
    ];
    const grants = [
      sampleCapabilityGrant({ delegationDepth: 1, parentGrantId: odd, expiresAt: 9, grantor: odd }),
      sampleStandingGrant({ session: odd, project: odd, approvalId: "a", uses: 3, lastUsedAt: 7 }),
      sampleCapabilityGrant({ tenant: "other" }),
    ];
    const revocations = [sampleRevocation(), sampleRevocation({ by: "odd \u0000", reason: "\ud800" })];
    const callback = sampleCallback({ callId: call.callId, tenant: "other", problem: ODD_TEXT, attempts: 3 });
    const tools = [
      sampleTool("calc", "1.0.0"),
      { ...sampleTool("zip", "0.1.0"), module: "/tools/zip.ts" },
      sampleTool("calc", "1.1.0"),
    ];
    const values = {
      "": null,
      "\u0000": "a\u0000b",
      "\u{1f600}": [5e-324, { deep: ["\uffff"] }],
      'q"\\\n': false,
    };
    const { state } = writing({ tenant: "acme", tool: "calc" }, { version: 0 }, values);
    const unit = structuredClone({
      ...queueing(call),
      approvals: approvals.map((record) => ({ record, order: ODD_TEXT })),
      grants: grants.map((record) => ({ record })),
      revocations,
      callbacks: [{ callback }],
      records: [sampleRecord({ id: "a" })],
      tools: tools.map((record) => ({ record })),
      ...(state && { state }),
    });
    await applied(store, unit);
    spoil(unit);
    spoil(await contentsOf(store));
    const { heads: _, units: ___, messages: __, orders, state: kept, ...rest } = await contentsOf(store);
    expect(rest).toEqual({
      calls: [call],
      queue: [{ callId: call.callId, order: `order of ${call.callId}` }],
      approvals: approvals.toReversed(),
      grants,
      revocations,
      callbacks: [callback],
      records: [{ ...sampleRecord({ id: "a" }), revision: 1 }],
      tools,
    });
    expect(orders).toEqual([ODD_TEXT, ODD_TEXT]);
    expect(Object.fromEntries(kept.map(([key, entry]) => [key, entry?.value]))).toEqual(values);
    for (const record of grants) expect(await store.grants.get(record.grantId)).toEqual(record);
    for (const record of approvals) expect(await store.approvals.get(record.approvalId)).toEqual(record);
    expect(await store.callbacks.ofCall(callback.callId)).toEqual(callback);
  });

  it.for<[string, JsonValue]>([
    ["text with NUL and every kind of plane", "a\u0000b \uffff \u{1f600} \u2028"],
    ["large and small numbers", [1e308, 5e-324, 2 ** 60, -1.5]],
    ["nothing at all", null],
    ["deep structure", { a: [{ b: { "": [] } }], __proto_: {} }],
  ])("keeps an input and an output of %s exactly", async ([, result], { store }) => {
    const call = sampleCall({ input: JSON.stringify(result) });
    await applied(store, opening({ ...call, closing: sampleClosing(call.callId, result) }));
    const kept = await store.calls.get(call.callId);
    expect(kept).toMatchObject({ input: JSON.stringify(result), closing: { answer: { result } } });
  });

  it("keeps every part of an answer", async ({ store }) => {
    const call = sampleIntent();
    const parts = {
      executionId: call.callId,
      attempts: 3,
      lifecycle: [{ state: "DECLARED" as const, at: 7 }],
      usage: { durationMs: 1, cpuMs: 2, memoryPeakBytes: 3, networkBytesSent: 4, networkBytesReceived: 5 },
      isolation: { level: "LEVEL_1" as const, runner: "thread" },
      rollback: { verified: true, snapshotHash: "h", discardedMutations: 2 },
      approval: { approvalId: "a", by: ["ada"], editedInput: { b: null } },
      warnings: [{ code: "W", message: "odd \u0000" }],
    };
    const { answer, ...rest } = failedClosing(call.callId, "error");
    const closing = { ...rest, answer: { ...answer, ...parts } };
    const unit = structuredClone(opening({ ...call, phase: "closed", closing }));
    await applied(store, unit);
    spoil(unit);
    spoil(await store.calls.get(call.callId));
    expect(await store.calls.get(call.callId)).toMatchObject({ closing: { status: "error", answer: parts } });
  });
}

async function counts(store: Store) {
  return {
    calls: (await store.calls.list({ limit: 100 })).length,
    events: (await store.audit.read("acme", { strand: 0, after: 0, limit: 100 })).length,
    messages: (await pendingOf(store)).length,
  };
}

/** Empties a value and all that is in it. */
function spoil(value: unknown): void {
  if (typeof value !== "object" || value === null) return;
  for (const member of Object.values(value)) spoil(member);
  for (const key of Object.keys(value)) Reflect.deleteProperty(value, key);
}
