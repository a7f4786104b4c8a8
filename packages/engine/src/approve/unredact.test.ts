import { describe, expect, it } from "vitest";
import { redact } from "../redact/redact.ts";
import { unredacted } from "./unredact.ts";

describe("arguments that were edited as they were shown", () => {
  const real = { path: "a", api_key: "k-1234567890", deep: [{ password: "hunter2" }, 1] };
  const shown = redact(real);

  it("mean the real ones where nothing was changed", () => {
    expect(unredacted(structuredClone(shown), { real, shown })).toEqual(real);
    const edited = { ...Object(shown), path: "b" };
    expect(unredacted(edited, { real, shown })).toEqual({ ...real, path: "b" });
  });

  it("mean what was written where it was changed, added or moved", () => {
    const edited = { path: "a", api_key: "new", deep: [1, { password: "other" }], more: true };
    expect(unredacted(edited, { real, shown })).toEqual(edited);
    expect(unredacted("text", { real, shown })).toBe("text");
  });
});
