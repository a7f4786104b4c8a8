import { describe, expect, it } from "vitest";
import { tableAfter } from "../../../../../test/fixtures/doc-table.ts";
import { CapabilityTree } from "./capability-tree.ts";
import { CONDITION_TYPES, readCondition } from "./condition.ts";
import { CONSTRAINT_TYPES } from "./constraint.ts";

describe("docs/grants.md", () => {
  it("lists the capabilities there are, with risk and prerequisites [R3-1]", () => {
    const tree = new CapabilityTree()
      .all()
      .map(({ id, risk, requires, delegatable }) => [
        id,
        risk ?? "–",
        requires.join(", ") || "–",
        delegatable ? "yes" : "no",
      ]);
    expect(tableAfter("## Capabilities", "grants.md")).toEqual(tree);
  });

  it("lists the constraints and conditions that are understood [R3-2]", () => {
    const constraints = tableAfter("### Constraints", "grants.md").map(([type]) => type?.replaceAll("`", ""));
    expect(constraints).toEqual(CONSTRAINT_TYPES);
    const conditions = tableAfter("### Conditions", "grants.md");
    expect(conditions.map(([type]) => type).sort()).toEqual([...CONDITION_TYPES].sort());
    const [, names = ""] = conditions.find(([type]) => type === "TIME") ?? [];
    const told = [...names.matchAll(/`([a-z]+)`/g)].map(([, name]) => name);
    expect(told).toHaveLength(8);
    for (const name of told)
      expect(readCondition({ type: "TIME", expression: `${name} == 1` }).problem).toBeUndefined();
  });
});
