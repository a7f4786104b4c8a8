import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const ROOT = fileURLToPath(new URL("../", import.meta.url));
const tracked = execFileSync("git", ["ls-files"], { cwd: ROOT, encoding: "utf8" }).split("\n");
const called = (...names: string[]) => tracked.filter((path) => names.includes(basename(path)));

describe("what npm reads", () => {
  it.each(called("package-lock.json"))("%s is in step with its package.json [X-17]", (lockfile) => {
    const cache = mkdtempSync(join(tmpdir(), "sallyport-npm-"));
    try {
      const words = ["ci", "--dry-run", "--offline", "--ignore-scripts", "--cache", cache];
      const ran = spawnSync("npm", words, { cwd: join(ROOT, dirname(lockfile)), encoding: "utf8" });
      expect([ran.stderr.replaceAll(/^npm warn .*\n/gm, ""), ran.status]).toEqual(["", 0]);
    } finally {
      rmSync(cache, { recursive: true, force: true });
    }
  });

  it("names no registry, and fetches nothing by address [X-17]", () => {
    for (const path of called("package-lock.json", "package.json", ".npmrc")) {
      const text = readFileSync(join(ROOT, path), "utf8");
      expect([
        path,
        text.match(/"resolved": "[a-z+]+:.*|registry=.*|"(?:https?|git)[^"]*\.(?:tgz|git)"/g),
      ]).toEqual([path, null]);
    }
  });
});
