import { LIFECYCLE_EDGES, LIFECYCLE_STATES } from "@sallyport/protocol";
import { describe, expect, it } from "vitest";
import { tableAfter } from "../../../../test/fixtures/doc-table.ts";
import { passage } from "./pipeline.ts";

describe("docs/lifecycle.md", () => {
  it("lists the stages the passage has, in its order", () => {
    expect(tableAfter("## Stages", "lifecycle.md").map(([stage]) => stage)).toEqual(
      passage.stages.map(({ name }) => name),
    );
  });

  it("lists every state with the edges that leave it [R1-3]", () => {
    const edges = tableAfter("## States", "lifecycle.md").map(([state, , next]) => [
      state,
      next === "–" ? [] : next?.split(", "),
    ]);
    expect(edges).toEqual(LIFECYCLE_STATES.map((state) => [state, [...LIFECYCLE_EDGES[state]]]));
  });
});
