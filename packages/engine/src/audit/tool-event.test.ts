import { canonicalJson } from "@sallyport/protocol";
import { describe, expect, it } from "vitest";
import { sampleTool } from "../testing/store-contract-samples.ts";
import { toolEventBody } from "./tool-event.ts";

const AT = { eventId: "e-1", timestamp: 5 };
const record = sampleTool("calc", "1.0.0");

describe("events about tools", () => {
  it("are canonical JSON, with and without somebody's word", () => {
    const retired = { ...record, retirement: { replacement: "2.0.0" } };
    const word = { by: "olga", because: "odd", callId: "c" };
    const bodies = [
      toolEventBody("registered", record, AT),
      toolEventBody("removed", retired, AT),
      toolEventBody("quarantined", retired, { ...AT, word }),
      toolEventBody("released", record, { ...AT, word: { by: "olga", because: "fine" } }),
    ];
    for (const body of bodies) expect(canonicalJson(JSON.parse(body))).toBe(body);
    expect(JSON.parse(bodies[2] ?? "")).toMatchObject({ change: "quarantined", word });
    expect(bodies[0]).not.toContain("word");
  });

  it("hold no secrets and no half characters [L3P2-3]", () => {
    const because = `it sent Bearer abcdefgh12345678 ${"x".repeat(900)}\ud800`;
    const body = toolEventBody("quarantined", record, { ...AT, word: { by: "\ud800", because } });
    expect(body).not.toContain("abcdefgh12345678");
    expect(body.isWellFormed()).toBe(true);
    expect(JSON.parse(body).word.because).toHaveLength(500);
  });
});
