import { describe, expect, it } from "vitest";
import { sampleCall, sampleIntent } from "../testing/store-samples.ts";
import { judge } from "./recovery.ts";

describe("the verdict on a call after its process is gone", () => {
  it.each([
    ["waits for approval", sampleIntent({ phase: "waiting", sideEffects: "external" }), /approval/],
    ["is queued", sampleIntent({ phase: "queued", sideEffects: "external" }), /queued and has not run/],
    ["could change only transactional state", sampleIntent(), /never committed/],
    ["is not in the journal", undefined, /no intent/],
  ])("is that it never started when it %s", (_, record, reason) => {
    expect(judge("a", record)).toEqual({
      verdict: "never_started",
      callId: "a",
      reason: expect.stringMatching(reason),
    });
  });

  it("is that its outcome is unknown when it ran and may have changed the world", () => {
    const record = sampleIntent({ sideEffects: "external" });
    expect(judge("a", record)).toMatchObject({ verdict: "outcome_unknown", record });
  });

  it("is its answer when it has one", () => {
    const record = sampleCall({ sideEffects: "external" });
    expect(judge("a", record)).toEqual({ verdict: "completed", callId: "a", record });
  });
});
