import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { type BuiltHouse, inHouse } from "./fixtures/built-house.ts";

const STAND_INS: [string, (path: string) => void][] = [
  ["a link", (path) => symlinkSync("e", path)],
  ["a file", (path) => writeFileSync(path, "")],
  ["another folder", (path) => mkdirSync(join(path, "x"), { recursive: true })],
  ["nothing", () => undefined],
];

/** Acts where nothing is at the path. The tool works in a thread of its own and may make the folder anew meanwhile. */
function inPlaceOf(path: string, act: () => void): void {
  for (let tries = 1; ; tries += 1) {
    try {
      rmSync(path, { recursive: true, force: true });
      act();
      return;
    } catch (error) {
      if (tries >= 1_000) throw error;
    }
  }
}

/** Puts something in the place of the folder `d` and the folder back, until told to end. */
async function swapUntil(root: string, put: (path: string) => void, hasEnded: () => boolean): Promise<void> {
  const [folder, aside] = [join(root, "d"), join(root, "aside")];
  while (!hasEnded()) {
    renameSync(folder, aside);
    inPlaceOf(folder, () => put(folder));
    await turn();
    inPlaceOf(folder, () => renameSync(aside, folder));
    await turn();
  }
}

async function codesOf({ call }: BuiltHouse, times: number): Promise<string[]> {
  const codes: string[] = [];
  for (let at = 0; at < times; at += 1) {
    const answer = await call("write_file", { path: `d/x/n${at}.txt`, content: "n" });
    codes.push("error" in answer ? answer.error.code : answer.status);
  }
  return codes;
}

describe("write_file while others swap its folder", () => {
  it.each(STAND_INS)("for %s gives a reason, never an internal error [FR-VAL-06]", (_, put) =>
    inHouse({ files: { "d/a.txt": "a", "e/b.txt": "b" } }, async (house) => {
      let hasEnded = false;
      const swapping = swapUntil(house.root, put, () => hasEnded);
      const writing = codesOf(house, 25).finally(() => {
        hasEnded = true;
      });
      const [codes] = await Promise.all([writing, swapping]);
      expect(codes).not.toContain("E3900");
    }),
  );
});
