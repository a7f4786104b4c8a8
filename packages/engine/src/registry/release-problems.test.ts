import type { ManifestDraft } from "@sallyport/protocol";
import { describe, expect, it } from "vitest";
import { releaseProblems } from "./compatibility.ts";
import { ADD_INPUT, calculator } from "./fixtures/manifests.ts";

const operations = (changes: object) => ({
  operations: {
    add: { description: "Adds.", inputSchema: ADD_INPUT, outputSchema: { type: "number" }, ...changes },
  },
});

const BREAKING: [string, Partial<ManifestDraft>, string][] = [
  [
    "a removed operation",
    { operations: { sub: { description: "S.", inputSchema: {} } } },
    "/operations/add was removed",
  ],
  [
    "a stricter input",
    operations({ inputSchema: { ...ADD_INPUT, minProperties: 3 } }),
    "/operations/add/inputSchema/minProperties minProperties 3 is stricter than before",
  ],
  [
    "a looser output",
    operations({ outputSchema: {} }),
    "/operations/add/outputSchema/type may newly be null, boolean, object, array, string",
  ],
  [
    "no output schema any more",
    { operations: { add: { description: "A.", inputSchema: ADD_INPUT } } },
    "/operations/add/outputSchema was removed, so callers no longer know what they get",
  ],
  [
    "a new capability",
    operations({ requiredCapabilities: ["math"] }),
    "/operations/add/requiredCapabilities newly requires math",
  ],
  [
    "more side effects",
    { sideEffects: "external" },
    "/operations/add/sideEffects grew from none to external",
  ],
  ["an approval", { requiresApproval: true }, "/operations/add/requiresApproval newly requires approval"],
];

describe("a release [L3-REG-2]", () => {
  it.each(BREAKING)("may not bring %s within the caret range", (_name, changes, expected) => {
    const problems = releaseProblems(calculator("1.0.0"), calculator("1.1.0", changes));
    expect(problems.map(({ path, reason }) => `${path} ${reason}`)).toContain(expected);
  });

  it.each(BREAKING)("may bring %s with a new major, or a new minor of 0.x", (_name, changes) => {
    expect(releaseProblems(calculator("1.0.0"), calculator("2.0.0", changes))).toEqual([]);
    expect(releaseProblems(calculator("0.1.0"), calculator("0.2.0", changes))).toEqual([]);
    expect(releaseProblems(calculator("0.1.0"), calculator("0.1.1", changes))).not.toEqual([]);
  });

  it("may add operations and drop demands at any time", () => {
    const before = calculator("1.0.0", {
      sideEffects: "external",
      requiresApproval: true,
      requiredCapabilities: ["math"],
    });
    const after = calculator("1.0.1", {
      operations: { ...calculator("1.0.1").operations, sub: { description: "S.", inputSchema: {} } },
    });
    expect(releaseProblems(before, after)).toEqual([]);
  });
});
