import { isFailure } from "@sallyport/protocol";
import { describe, expect, it } from "vitest";
import { ASKED_AT, approvalRecord } from "../testing/approval-record.ts";
import { type Approved, approvalDigest } from "./digest.ts";
import { levelAt, levelEndsAt, mayNotAnswer } from "./levels.ts";
import { fillSummary } from "./summary.ts";

const HOUR = 3_600_000;

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
    expect(mayNotAnswer(record, "ada", ASKED_AT)).toBeUndefined();
    expect(mayNotAnswer(record, "team-x", ASKED_AT)?.code).toBe("E3226");
    expect(mayNotAnswer(record, "team-x", ASKED_AT + HOUR)).toBeUndefined();
    expect(mayNotAnswer(record, "ada", ASKED_AT + HOUR)).toBeUndefined();
  });

  it("never lets an agent answer for its own call", () => {
    expect(mayNotAnswer(approvalRecord(), "agent-7", ASKED_AT)?.code).toBe("E3226");
  });
});

const APPROVED: Approved = {
  tool: "t",
  version: "1.0.0",
  operation: "run",
  inputHash: "a",
  manifestHash: "b",
  policyVersion: "c",
  caller: { tenant: "acme", agent: "x" },
};

describe("the digest", () => {
  const changes: [string, Partial<Approved>][] = [
    ["arguments", { inputHash: "A" }],
    ["manifest", { manifestHash: "B" }],
    ["policy", { policyVersion: "C" }],
    ["tool", { tool: "u" }],
    ["version", { version: "1.0.1" }],
    ["operation", { operation: "other" }],
    ["agent", { caller: { tenant: "acme", agent: "y" } }],
    ["tenant", { caller: { tenant: "other", agent: "x" } }],
    ["user", { caller: { tenant: "acme", agent: "x", user: "u" } }],
    ["session", { caller: { tenant: "acme", agent: "x", session: "s" } }],
  ];

  it.each(changes)("is another one when the %s changes", (_, change) => {
    expect(approvalDigest({ ...APPROVED, ...change })).not.toBe(approvalDigest(APPROVED));
  });

  it("is the same for the same call", () => {
    expect(approvalDigest({ ...APPROVED, caller: { agent: "x", tenant: "acme" } })).toBe(
      approvalDigest(APPROVED),
    );
  });
});

describe("a summary sentence", () => {
  it.each([
    ["Read {path}", { path: "a.txt" }, "Read a.txt"],
    ["Read {path}[ lines {from}-{to}]", { path: "a", from: 1, to: 9 }, "Read a lines 1-9"],
    ["Read {path}[ lines {from}-{to}]", { path: "a", from: 1 }, "Read a"],
    ["Pay {who.name}", { who: { name: "Ada" } }, "Pay Ada"],
    ["No arguments", {}, "No arguments"],
    ["List {tags}", { tags: ["a", "b"] }, 'List ["a","b"]'],
  ])("%s is filled from the checked arguments [FR-APR-01]", (template, input, text) => {
    expect(fillSummary(template, input)).toBe(text);
  });

  it("that needs a missing argument is an error, so that nobody is asked about it [FR-APR-06]", () => {
    const failed = fillSummary("Read {path}", {});
    expect(typeof failed !== "string" && isFailure(failed) && failed.code).toBe("E3211");
  });

  it("does not look into prototypes", () => {
    expect(typeof fillSummary("{constructor}", {})).toBe("object");
    expect(typeof fillSummary("{__proto__.x}", {})).toBe("object");
  });
});
