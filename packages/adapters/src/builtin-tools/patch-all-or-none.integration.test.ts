import { describe, expect, it } from "vitest";
import { snapshot } from "../workspace/testing/snapshot.ts";
import { failureOf, inHouse } from "./fixtures/built-house.ts";
import { lp1, read, replaced } from "./fixtures/lp1.ts";

describe("a patch of several files", () => {
  it("leaves every byte as it was when the third file fails [T-PATCH-01] [FR-TOOL-PATCH-01]", () =>
    inHouse({ files: { "a.txt": "a\n", "b.txt": "b\n", "c.txt": "c\n" } }, async (house) => {
      await read(house, "a.txt", "b.txt", "c.txt");
      const before = await snapshot(house.root, { times: true });
      const steps = ["F new", "T", "n", "."].concat(
        replaced("a.txt", "a", "A"),
        replaced("b.txt", "b", "B"),
        replaced("c.txt", "nothing like it", "C"),
      );
      const failed = failureOf(await house.call("apply_patch", { patch: lp1(...steps) }));
      expect(failed).toMatchObject({
        code: "E3951",
        message: expect.stringMatching(/^Patch failed for c\.txt: patch line 19: match not found/),
      });
      expect(await snapshot(house.root, { times: true })).toEqual(before);
    }));

  it.each(["make the record", "prepare c.txt", "replace b.txt", "replace c.txt"])(
    "leaves every byte as it was when the commit fails at: %s [T-PATCH-01] [FR-TOOL-PATCH-01]",
    (point) => {
      let armed = false;
      const reached: string[] = [];
      const onStep = (next: string) => {
        reached.push(next);
        if (!armed || next !== point) return;
        armed = false;
        throw Object.assign(new Error("EIO: i/o error"), { code: "EIO" });
      };
      const files = { "a.txt": "a\n", "b.txt": "b\n", "c.txt": "c\n" };
      return inHouse({ files, onStep }, async (house) => {
        await read(house, "a.txt", "b.txt", "c.txt");
        const before = await snapshot(house.root, { times: true });
        armed = true;
        const steps = [
          ...replaced("a.txt", "a", "A"),
          ...replaced("b.txt", "b", "B"),
          ...replaced("c.txt", "c", "C"),
        ];
        const answer = await house.call("apply_patch", { patch: lp1(...steps) });
        expect(armed, reached.join("; ")).toBe(false);
        expect(answer.status).not.toBe("success");
        expect(await snapshot(house.root, { times: true })).toEqual(before);
        // What it would have written is no longer what was read: the next patch has to read first.
        expect(failureOf(await house.call("apply_patch", { patch: lp1(...steps) })).code).toBe("E3952");
        await read(house, "a.txt", "b.txt", "c.txt");
        expect((await house.call("apply_patch", { patch: lp1(...steps) })).status).toBe("success");
      });
    },
  );
});
