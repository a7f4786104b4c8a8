import fc from "fast-check";
import { maxSatisfying } from "semver";
import { describe, expect, it } from "vitest";
import { calculator } from "./fixtures/manifests.ts";
import { lifecycleAt } from "./lifecycle.ts";
import { ToolRegistry } from "./registry.ts";

const DAY = 86_400_000;
const part = fc.integer({ min: 0, max: 3 });
const version = fc
  .tuple(part, part, part, fc.constantFrom("", "", "", "-rc.1", "-beta"))
  .map(([a, b, c, pre]) => `${a}.${b}.${c}${pre}`);
const range = fc.oneof(
  version.map((each) => `^${each}`),
  version.map((each) => `~${each}`),
  version.map((each) => `>=${each}`),
  fc.tuple(version, version).map(([a, b]) => `>=${a} <${b}`),
  fc.tuple(version, version).map(([a, b]) => `^${a} || ^${b}`),
  fc.constantFrom("*", "x", "1", "1.x", "0.2 - 2.1"),
);
type Step =
  | { do: "register" | "remove"; version: string }
  | { do: "deprecate"; version: string; warningDays: number }
  | { do: "wait"; days: number };
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: version.map((each): Step => ({ do: "register", version: each })) },
  { weight: 1, arbitrary: version.map((each): Step => ({ do: "remove", version: each })) },
  {
    weight: 2,
    arbitrary: fc
      .tuple(version, fc.integer({ min: 0, max: 4 }))
      .map(([each, warningDays]): Step => ({ do: "deprecate", version: each, warningDays })),
  },
  { weight: 1, arbitrary: fc.integer({ min: 0, max: 5 }).map((days): Step => ({ do: "wait", days })) },
);

function apply(registry: ToolRegistry, each: Step, now: number): void {
  if (each.do === "register") registry.register(calculator(each.version), { now });
  if (each.do === "remove") registry.remove("calc", each.version, { now, force: true });
  if (each.do === "deprecate")
    registry.deprecate("calc", each.version, { now, warningDays: each.warningDays, guidance: "Move." });
}

/** What the range means, straight from the records. */
function expected(registry: ToolRegistry, wanted: string, now: number): string | null {
  const phase = (...names: string[]) =>
    registry
      .list()
      .filter(({ retirement }) => names.includes(lifecycleAt(retirement, now)))
      .map(({ manifest }) => manifest.version);
  return maxSatisfying(phase("active", "deprecated"), wanted) ?? maxSatisfying(phase("sunset"), wanted);
}

describe("resolution over any history [L3-REG-2]", () => {
  it("is the highest eligible version, also from the cache after every change and date", () => {
    let hits = 0;
    fc.assert(
      fc.property(
        fc.array(step, { maxLength: 20 }),
        fc.array(range, { minLength: 1, maxLength: 4 }),
        (steps, ranges) => {
          const registry = new ToolRegistry({ maxVersions: 4 });
          let now = 1;
          for (const each of steps) {
            if (each.do === "wait") now += each.days * DAY;
            apply(registry, each, now);
            for (const wanted of ranges) {
              const answer = registry.resolve({ tool: "calc", version: wanted, now });
              const got = "manifest" in answer ? answer.manifest.version : null;
              expect(got).toBe(expected(registry, wanted, now));
              hits += got === null ? 0 : 1;
            }
          }
        },
      ),
    );
    expect(hits).toBeGreaterThan(100);
  }, 120_000);

  it("never keeps more versions callable than allowed", () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(version, { maxLength: 12 }),
        fc.integer({ min: 1, max: 5 }),
        (versions, maxVersions) => {
          const registry = new ToolRegistry({ maxVersions });
          for (const each of versions) registry.register(calculator(each), { now: 1 });
          const kept = registry.list().filter(({ retirement }) => lifecycleAt(retirement, 1) !== "removed");
          expect(kept.length).toBe(Math.min(versions.length, maxVersions));
        },
      ),
    );
  });
});
