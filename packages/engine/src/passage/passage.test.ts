import { describe, expect, it } from "vitest";
import type { EngineContext } from "../context.ts";
import type { Progress } from "../journal/progress.ts";
import { Passage, Stop } from "./passage.ts";
import { passage } from "./pipeline.ts";

class Halt extends Stop {}
const nowhere = {} as EngineContext;

describe("passage", () => {
  it("walks its stages in order and hands each what the one before provided", async () => {
    const counting = Passage.from<number>()
      .stage("double", (value: number) => value * 2)
      .stage("as text", async (value: number) => `${value}`);
    expect(counting.stages.map(({ name }) => name)).toEqual(["double", "as text"]);
    expect(await counting.walk(21, nowhere)).toBe("42");
  });

  it("stops at the first stage that stops it", async () => {
    let reached = false;
    const halting = Passage.from<number>()
      .stage("halt", (_: number): number | Halt => new Halt({} as Progress))
      .stage("after", (value: number) => {
        reached = true;
        return value;
      });
    expect(await halting.walk(1, nowhere)).toBeInstanceOf(Halt);
    expect(reached).toBe(false);
  });

  it("does not accept a stage before what it needs", () => {
    const start = Passage.from<number>();
    // @ts-expect-error a stage that needs a string cannot follow one that provides a number: the type check fails if it can
    const wrong = start.stage("wrong", (value: string) => value.length);
    expect(wrong.stages).toHaveLength(1);
  });

  it("checks input, capabilities and resources before the transaction opens [R1-5.1]", () => {
    expect(passage.stages.map(({ name }) => name)).toEqual([
      "resolve",
      "validate",
      "authorise",
      "approve",
      "admit",
      "journal intent",
      "execute",
      "check result",
      "commit",
    ]);
  });
});
