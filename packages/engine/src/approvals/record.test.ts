import { isFailure } from "@sallyport/protocol";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { ApprovalRecord } from "../ports/approvals.ts";
import { ASKED_AT, approvalRecord } from "../testing/samples.ts";
import {
  type ApprovalChange,
  type Approved,
  approvalDigest,
  approve,
  consume,
  deny,
  edit,
  end,
  expire,
  isFinal,
  levelAt,
  levelEndsAt,
  release,
  reserve,
  standingAt,
} from "./record.ts";

const at = ASKED_AT + 1_000;
const HOUR = 3_600_000;

function must(settled: ApprovalChange): ApprovalRecord {
  if (isFailure(settled)) throw new Error(`${settled.code} ${settled.message}`);
  return settled;
}

const codeOf = (settled: ApprovalChange): string | undefined =>
  isFailure(settled) ? settled.code : undefined;
const yes = (record = approvalRecord(), by = "ada") => approve(record, { by, at });
const hold = (record: ApprovalRecord, digest = record.digest) =>
  reserve(record, { owner: "me", at, leaseMs: 60_000, digest });

const { callId, tenant, agent, tool, version, operation, risk } = approvalRecord();
const CONTENT = {
  ...{ callId, tenant, agent, tool, version, operation, risk },
  digest: "d".repeat(64),
  inputHash: "e".repeat(64),
  policyVersion: "policy-1",
  manifestHash: "2".repeat(64),
  summary: "Send another mail",
  input: { to: "y" },
};

const WITHDRAWN = { state: "withdrawn", at, reason: "gone" } as const;
const VOID = { state: "void", at, reason: "changed" } as const;

describe("escalation", () => {
  it("goes from one level to the next after 1 h, 4 h and 24 h [L3P2-2]", () => {
    const record = approvalRecord();
    const level = (hours: number) => levelAt(record, ASKED_AT + hours * HOUR);
    expect([0, 0.99, 1, 4.99, 5, 28.99].map(level)).toEqual([1, 1, 2, 2, 3, 3]);
    expect(levelEndsAt(record, ASKED_AT)).toBe(ASKED_AT + HOUR);
    expect(levelEndsAt(record, ASKED_AT + HOUR)).toBe(ASKED_AT + 5 * HOUR);
    expect(record.expiresAt).toBe(ASKED_AT + 29 * HOUR);
  });

  it("adds people and takes nobody away", () => {
    const record = approvalRecord({
      levels: [
        { level: 1, approvers: ["ada"], timeoutMs: HOUR },
        { level: 2, approvers: ["team-*"], timeoutMs: HOUR },
      ],
    });
    const answers = (by: string, hours: number) =>
      codeOf(approve(record, { by, at: ASKED_AT + hours * HOUR }));
    expect([answers("ada", 0), answers("team-x", 0)]).toEqual([undefined, "E3226"]);
    expect([answers("ada", 1), answers("team-x", 1)]).toEqual([undefined, undefined]);
  });
});

const APPROVED: Approved = {
  tool: "t",
  version: "1.0.0",
  operation: "run",
  inputHash: "a",
  manifestHash: "b",
  policyVersion: "c",
  tenant: "acme",
  agent: "x",
};

describe("the digest", () => {
  const changes: [string, Partial<Approved>][] = [
    ["arguments", { inputHash: "A" }],
    ["manifest", { manifestHash: "B" }],
    ["policy", { policyVersion: "C" }],
    ["tool", { tool: "u" }],
    ["version", { version: "1.0.1" }],
    ["operation", { operation: "other" }],
    ["agent", { agent: "y" }],
    ["tenant", { tenant: "other" }],
    ["user", { user: "u" }],
    ["session", { session: "s" }],
    ["changes that were shown", { shown: "d" }],
  ];

  it.each(changes)("is another one when the %s changes", (_, change) => {
    expect(approvalDigest({ ...APPROVED, ...change })).not.toBe(approvalDigest(APPROVED));
  });

  it("is the same for the same call, whatever else is known of it", () => {
    expect(approvalDigest({ ...approvalRecord(), ...APPROVED })).toBe(approvalDigest(APPROVED));
  });
});

describe("an approval", () => {
  it.each([
    ["a trailing space", "ada "],
    ["case", "ADA"],
    ["a character nobody sees", "a\u200bda\u2060\ufeff\u00ad"],
    ["a wider form", "\uff41\uff44\uff41"],
    ["white space of another kind", "\u2003ada\u00a0\u2800"],
  ])("counts one person once, whose names differ by %s", (_, other) => {
    const first = must(yes(approvalRecord({ quorum: 2 })));
    expect(codeOf(yes(first, other))).toBe("E3222");
    const twice = {
      ...first,
      votes: [...first.votes, { ...first.votes[0], by: other }] as ApprovalRecord["votes"],
    };
    expect(must(yes({ ...twice, quorum: 3 }, "bob")).standing.state).toBe("pending");
  });

  it("counts composed and decomposed characters as one, and other names as others", () => {
    const first = must(yes(approvalRecord({ quorum: 2 }), "Zo\u00eb Stra\u00dfe"));
    expect(codeOf(yes(first, "zoe\u0308 STRASSE"))).toBe("E3222");
    expect(codeOf(yes(first, "zoe\u200b\u0308 stra\u1e9ee"))).toBe("E3222");
    expect(must(yes(first, "zoe strasse")).standing.state).toBe("approved");
  });

  it.each(["", " ", "\u200b", "ada\n", "ada\u0000", "ada\u009b", "ada\ue000", "ada\u0378", "\ud800"])(
    "is answered by nobody called %j",
    (by) => {
      expect(codeOf(yes(approvalRecord(), by))).toBe("E3226");
      expect(codeOf(deny(approvalRecord(), { by, at, reason: "no" }))).toBe("E3226");
    },
  );

  it("is not answered by the agent that made the call, however it is spelt", () => {
    expect(codeOf(yes(approvalRecord({ agent: "agent-7" }), "Agent-7 "))).toBe("E3226");
  });

  it("is approved by one person, reserved by one executor, and spent once [FR-APR-03]", () => {
    const approved = must(yes());
    expect(approved.standing).toEqual({ state: "approved", at });
    expect(approved.revision).toBe(2);
    const reserved = must(hold(approved));
    expect(codeOf(hold(reserved))).toBe("E3222");
    const spent = must(consume(reserved, { owner: "me", at }));
    expect(spent.standing.state).toBe("consumed");
    expect(codeOf(hold(spent))).toBe("E3222");
    expect(codeOf(consume(spent, { owner: "me", at }))).toBe("E3222");
  });

  it("is spent only by whoever reserved it", () => {
    const reserved = must(hold(must(yes())));
    expect(codeOf(consume(reserved, { owner: "other", at }))).toBe("E3222");
    expect(codeOf(consume(must(yes()), { owner: "me", at }))).toBe("E3222");
  });

  it("does not hold for another digest", () => {
    expect(codeOf(hold(must(yes()), "f".repeat(64)))).toBe("E3216");
  });

  it("needs as many different people as its quorum", () => {
    const two = approvalRecord({ quorum: 2 });
    const one = must(yes(two, "ada"));
    expect(one.standing.state).toBe("pending");
    expect(codeOf(yes(one, "ada"))).toBe("E3222");
    expect(must(yes(one, "bob")).standing.state).toBe("approved");
  });

  it("stays denied, whoever says yes afterwards", () => {
    const denied = must(deny(approvalRecord(), { by: "ada", at, reason: "no" }));
    expect(denied.standing).toEqual({ state: "denied", at, by: "ada", reason: "no" });
    expect(codeOf(yes(denied, "bob"))).toBe("E3222");
    expect(codeOf(edit(denied, { content: CONTENT, by: "bob", at }))).toBe("E3222");
  });

  it("when edited is an approval of the new arguments alone", () => {
    const edited = must(edit(approvalRecord(), { content: CONTENT, by: "ada", at }));
    expect(edited).toMatchObject({ standing: { state: "edited" }, editedBy: "ada", digest: CONTENT.digest });
    expect(codeOf(hold(edited, approvalRecord().digest))).toBe("E3216");
    expect(must(hold(edited)).standing.state).toBe("reserved");
  });

  it("when edited forgets what others said about the old arguments", () => {
    const one = must(yes(approvalRecord({ quorum: 2 }), "ada"));
    const edited = must(edit(one, { content: CONTENT, by: "bob", at }));
    expect(edited.standing.state).toBe("pending");
    expect(edited.votes.map(({ by }) => by)).toEqual(["bob"]);
    expect(must(yes(edited, "ada")).standing.state).toBe("edited");
  });

  it("expires when nobody answers through all levels, and when a yes is not used in time", () => {
    const late = ASKED_AT + 29 * HOUR;
    expect(standingAt(approvalRecord(), late - 1).state).toBe("pending");
    expect(standingAt(approvalRecord(), late).state).toBe("expired");
    expect(codeOf(approve(approvalRecord(), { by: "ada", at: late }))).toBe("E3222");
    const unused = must(yes());
    expect(codeOf(reserve(unused, { owner: "me", at: late, leaseMs: 1, digest: unused.digest }))).toBe(
      "E3222",
    );
    expect(must(expire(unused, late)).standing).toEqual({ state: "expired", at: late });
    expect(codeOf(expire(unused, late - 1))).toBe("E3222");
  });

  it("that was reserved and not spent is good again after the lease, or once it is released", () => {
    const reserved = must(hold(must(yes())));
    expect(standingAt(reserved, at + 59_999).state).toBe("reserved");
    expect(standingAt(reserved, at + 60_000).state).toBe("approved");
    expect(release(reserved, at).standing.state).toBe("approved");
    const edited = must(hold(must(edit(approvalRecord(), { content: CONTENT, by: "ada", at }))));
    expect(release(edited, at).standing.state).toBe("edited");
  });

  it("can be withdrawn or voided until it is spent", () => {
    expect(must(end(must(yes()), WITHDRAWN)).standing.state).toBe("withdrawn");
    const spent = must(consume(must(hold(must(yes()))), { owner: "me", at }));
    expect(codeOf(end(spent, WITHDRAWN))).toBe("E3222");
    expect(codeOf(end(spent, VOID))).toBe("E3222");
  });

  it("never leaves a final state, and counts every change, under random events", () => {
    const event = fc.oneof(
      fc.record({ kind: fc.constant("approve"), by: fc.constantFrom("ada", "bob", "agent-7") }),
      fc.record({ kind: fc.constantFrom("deny", "edit"), by: fc.constantFrom("ada", "bob") }),
      fc.record({
        kind: fc.constantFrom("reserve", "reserve-other", "consume", "release", "expire", "withdraw", "void"),
        by: fc.constant("me"),
      }),
    );
    fc.assert(
      fc.property(fc.array(event, { maxLength: 30 }), fc.integer({ min: 1, max: 3 }), (events, quorum) => {
        let record = approvalRecord({ quorum });
        let spent = 0;
        for (const { kind, by } of events) {
          const next = apply(record, kind, by);
          if (isFailure(next) || next === record) continue;
          expect(isFinal(record.standing.state)).toBe(false);
          expect(next.revision).toBe(record.revision + 1);
          if (next.standing.state === "reserved" || next.standing.state === "consumed") {
            const agreed = new Set(next.votes.filter((vote) => vote.digest === next.digest).map((v) => v.by));
            expect(agreed.size).toBeGreaterThanOrEqual(quorum);
            expect(agreed.has("agent-7")).toBe(false);
          }
          if (next.standing.state === "consumed") spent += 1;
          record = next;
        }
        expect(spent).toBeLessThanOrEqual(1);
      }),
    );
  });
});

function apply(record: ApprovalRecord, kind: string, by: string): ApprovalChange {
  switch (kind) {
    case "approve":
      return approve(record, { by, at });
    case "deny":
      return deny(record, { by, at, reason: "no" });
    case "edit":
      return edit(record, { content: CONTENT, by, at });
    case "reserve":
      return hold(record);
    case "reserve-other":
      return hold(record, "0".repeat(64));
    case "consume":
      return consume(record, { owner: by, at });
    case "release":
      return release(record, at);
    case "expire":
      return expire(record, at);
    case "withdraw":
      return end(record, WITHDRAWN);
    default:
      return end(record, VOID);
  }
}
