import { describe, expect, it } from "vitest";
import { environmentBytes } from "./supervise.ts";

describe("environmentBytes", () => {
  it("ends each variable with NUL", () => {
    expect(environmentBytes({ A: "b=c", É: "" }).toString("utf8")).toBe("A=b=c\0É=\0");
    expect(environmentBytes({})).toHaveLength(0);
  });

  it.each([{ "": "x" }, { "A=B": "x" }, { "A\0B": "x" }, { A: "x\0LD_PRELOAD=y" }])("refuses %j", (env) => {
    expect(() => environmentBytes(env)).toThrow(TypeError);
  });
});
