import { isFailure } from "@sallyport/protocol";
import { describe, expect, it } from "vitest";
import { fillSummary } from "./summary.ts";

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
