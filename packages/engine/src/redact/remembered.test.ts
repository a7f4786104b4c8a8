import { describe, expect, it } from "vitest";
import { remembered } from "./remembered.ts";

describe("a remembered judgement", () => {
  it("is made once for a name, and again after thousands of others: the memory is bounded", () => {
    let made = 0;
    const judge = remembered((name) => {
      made += 1;
      return name.length > 3 ? "long" : "short";
    });
    expect([judge("name"), judge("name"), made]).toEqual(["long", "long", 1]);
    for (let at = 0; at < 3_000; at += 1) judge(`name${at}`);
    made = 0;
    expect([judge("name"), made]).toEqual(["long", 1]);
  });

  it("is not kept of very long names, nor of those it may not keep", () => {
    let made = 0;
    const judge = remembered(
      () => {
        made += 1;
        return "judged";
      },
      (name) => name !== "secret",
    );
    for (const name of ["secret", "secret", "x".repeat(65), "x".repeat(65), "a", "a"]) judge(name);
    expect(made).toBe(5);
  });
});
