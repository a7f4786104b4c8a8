import { readFileSync } from "node:fs";
import { LIFECYCLE_EDGES, LIFECYCLE_STATES } from "@sallyport/protocol";
import { describe, expect, it } from "vitest";
import { passage } from "./pipeline.ts";

const DOC = readFileSync(new URL("../../../../docs/lifecycle.md", import.meta.url), "utf8");

/** The cells of the first table after a heading. */
function tableAfter(heading: string): string[][] {
  const [, after = ""] = DOC.split(`## ${heading}\n`);
  const [table = ""] = after.match(/(^\|.*\n)+/m) ?? [];
  const rows = table.trimEnd().split("\n").slice(2);
  return rows.map((row) =>
    row
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

describe("docs/lifecycle.md", () => {
  it("lists the stages the passage has, in its order", () => {
    expect(tableAfter("Stages").map(([stage]) => stage)).toEqual(passage.stages.map(({ name }) => name));
  });

  it("lists every state with the edges that leave it [R1-3]", () => {
    const edges = tableAfter("States").map(([state, , next]) => [
      state,
      next === "–" ? [] : next?.split(", "),
    ]);
    expect(edges).toEqual(LIFECYCLE_STATES.map((state) => [state, [...LIFECYCLE_EDGES[state]]]));
  });
});
