import { canonicalJson, type JsonValue } from "@sallyport/protocol";
import { describe, expect, it } from "vitest";
import { UseLog } from "./guarded-host.ts";

describe("the log of uses", () => {
  it("is empty until something is used", () => {
    expect([new UseLog().entries(), new UseLog().more]).toEqual([[], 0]);
  });

  it("counts by capability and action, with the first and the last resource [R3-4]", () => {
    const log = new UseLog();
    for (const resource of ["a", "b", "c"]) log.add({ capability: "net", action: "get", resource });
    log.add({ capability: "net" });
    log.add({ capability: "net", action: "get" });
    expect(log.entries()).toEqual([
      { action: "get", capability: "net", first: "a", last: "c", uses: 4 },
      { capability: "net", uses: 1 },
    ]);
  });

  it("entries are written as canonical JSON would write them", () => {
    const log = new UseLog();
    for (const resource of ["a", "b\ud800"]) log.add({ capability: "net", action: "get", resource });
    const text = JSON.stringify(log.entries());
    expect(canonicalJson(JSON.parse(text) as JsonValue)).toBe(text);
  });

  it("is bounded whatever a tool does: 64 kinds, short texts, no credentials [R3-4]", () => {
    const log = new UseLog();
    for (let n = 0; n < 100; n += 1) log.add({ capability: `c-${n}`, resource: "x".repeat(5_000) });
    log.add({ capability: "c-0" });
    expect([log.entries().length, log.more]).toEqual([64, 36]);
    expect(log.entries()[0]).toEqual({ capability: "c-0", first: "x".repeat(200), uses: 2 });
    const secret = new UseLog();
    secret.add({ capability: "net", resource: `https://a/?key=AKIA${"A".repeat(16)}` });
    expect(secret.entries()[0]?.first).toMatch(/^https:\/\/a\/\?key=\[REDACTED.*\]$/);
  });
});
