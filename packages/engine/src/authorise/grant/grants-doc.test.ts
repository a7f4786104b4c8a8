import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { CapabilityTree } from "./capability-tree.ts";
import { CONDITION_TYPES, readCondition } from "./condition.ts";
import { CONSTRAINT_TYPES } from "./constraint.ts";

const DOC = readFileSync(new URL("../../../../../docs/grants.md", import.meta.url), "utf8");

/** The cells of the first table after a heading. */
function tableAfter(heading: string): string[][] {
  const [, after = ""] = DOC.split(`${heading}\n`);
  const [table = ""] = after.match(/(^\|.*\n)+/m) ?? [];
  const rows = table.trimEnd().split("\n").slice(2);
  return rows.map((row) =>
    row
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

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
    expect(tableAfter("## Capabilities")).toEqual(tree);
  });

  it("lists the constraints and conditions that are understood [R3-2]", () => {
    const constraints = tableAfter("### Constraints").map(([type]) => type?.replaceAll("`", ""));
    expect(constraints).toEqual(CONSTRAINT_TYPES);
    const conditions = tableAfter("### Conditions");
    expect(conditions.map(([type]) => type).sort()).toEqual([...CONDITION_TYPES].sort());
    const [, names = ""] = conditions.find(([type]) => type === "TIME") ?? [];
    const told = [...names.matchAll(/`([a-z]+)`/g)].map(([, name]) => name);
    expect(told).toHaveLength(8);
    for (const name of told)
      expect(readCondition({ type: "TIME", expression: `${name} == 1` }).problem).toBeUndefined();
  });
});
