import { createHash } from "node:crypto";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { findLauncher, type LauncherPlace, launcherPlace } from "./find-launcher.ts";
import { sourceHash } from "./source-hash.ts";

describe.runIf(process.platform === "linux")("findLauncher", () => {
  const folders: string[] = [];
  afterEach(() => {
    for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
  });

  function place(parent = ""): LauncherPlace {
    const folder = mkdtempSync(join(tmpdir(), "sallyport-find-"));
    folders.push(folder);
    const sources = join(folder, parent, "native");
    mkdirSync(sources, { recursive: true });
    writeFileSync(join(sources, "main.c"), "int main(void) { return 0; }\n");
    return { sources, binary: join(folder, "launcher"), stamp: join(folder, "launcher.sha256") };
  }

  function build(at: LauncherPlace): LauncherPlace {
    writeFileSync(at.binary, "");
    chmodSync(at.binary, 0o755);
    writeFileSync(at.stamp, `${sourceHash(at.sources)}\n`);
    return at;
  }

  it("finds one that was built from its sources", () => {
    const built = build(place());
    expect(findLauncher(built)).toEqual({ path: built.binary });
  });

  it("compares it with its sources once per process", () => {
    const built = build(place());
    findLauncher(built);
    writeFileSync(join(built.sources, "main.c"), "");
    expect(findLauncher(built)).toEqual({ path: built.binary });
  });

  it("says how to build one that is not there", () => {
    expect(findLauncher(place())).toEqual({
      missing: `there is no sandbox launcher for linux ${process.arch}`,
      fix: "npm run launcher",
    });
    expect(findLauncher(place("node_modules"))).toMatchObject({
      fix: expect.stringContaining("npm run pack"),
    });
  });

  it("refuses a program that is not the one that was stamped, and an installed one without a digest [X-17]", () => {
    const digest = createHash("sha256").update("").digest("hex");
    const damaged = {
      missing: "the sandbox launcher is not the program that was built",
      fix: expect.anything(),
    };
    for (const [parent, line, found] of [
      ["", digest, true],
      ["node_modules", digest, true],
      ["", "0".repeat(64), false],
      ["node_modules", "0".repeat(64), false],
      ["node_modules", "", false],
    ] as const) {
      const at = build(place(parent));
      writeFileSync(at.stamp, `${sourceHash(at.sources)}\n${line}\n`);
      expect(findLauncher(at)).toEqual(found ? { path: at.binary } : damaged);
    }
  });

  it("refuses one whose sources have changed, whatever the change", () => {
    const stale = { missing: expect.stringContaining("older"), fix: "npm run launcher" };
    const edited = build(place());
    writeFileSync(join(edited.sources, "main.c"), "int main(void) { return 1; }\n");
    expect(findLauncher(edited)).toEqual(stale);
    const added = build(place());
    writeFileSync(join(added.sources, "more.h"), "");
    expect(findLauncher(added)).toEqual(stale);
    const unstamped = build(place());
    rmSync(unstamped.stamp);
    expect(findLauncher(unstamped)).toEqual(stale);
  });

  it("takes one that came without its sources", () => {
    const published = build(place());
    rmSync(published.sources, { recursive: true });
    expect(findLauncher(published)).toEqual({ path: published.binary });
  });

  it("looks beside the package's own sources", () => {
    expect(launcherPlace().binary).toMatch(/native\/build\/linux-\w+\/sallyport-launcher$/);
  });
});
