import { describe, expect, it } from "vitest";
import { RevocationList } from "./revocation-list.ts";

describe("revocations", () => {
  it("are cleaned away once they are over, and only then", () => {
    const list = new RevocationList();
    list.add("for good");
    list.add("later", 5_000);
    list.add("later", 100);
    for (let index = 0; index < 2_000; index += 1) list.add(`old-${index}`, 1_000);
    list.clean(1_000);
    expect(list.has("old-0")).toBe(true);
    for (let index = 0; index < 3_000; index += 1) list.add(`older-${index}`, 1_000);
    list.clean(1_001);
    expect(["for good", "later", "old-0", "older-1"].map((jti) => list.has(jti))).toEqual([
      true,
      true,
      false,
      false,
    ]);
  });
});
