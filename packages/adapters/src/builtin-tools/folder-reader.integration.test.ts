import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { folderReader } from "./folder-reader.ts";

const root = realpathSync(mkdtempSync(join(tmpdir(), "sallyport-reader-")));
afterAll(() => rmSync(root, { recursive: true }));
mkdirSync(join(root, "d", "sub"), { recursive: true });
writeFileSync(join(root, "d", "file"), "four");
symlinkSync("file", join(root, "d", "link"));
execFileSync("mkfifo", [join(root, "d", "pipe")]);

const refusing = (code: string) => ({
  list: async () => {
    throw Object.assign(new Error(code), { code });
  },
});

describe("a folder whose entries the files cannot all look at", () => {
  it("is looked at name by name [T-LD-10]", async () => {
    const found = await folderReader(refusing("EACCES"), root)("d");
    const types = found.map(
      ({ name, entry }) => `${name} ${entry?.type} ${entry?.type === "file" && entry.bytes}`,
    );
    expect(types.sort()).toEqual([
      "file file 4",
      "link symlink false",
      "pipe other false",
      "sub folder false",
    ]);
  });

  it("stays closed when it is denied, or is reached through a link [T-LD-12]", async () => {
    await expect(folderReader(refusing("E3105"), root)("d")).rejects.toThrow("E3105");
    symlinkSync("d", join(root, "way"));
    await expect(folderReader(refusing("EACCES"), root)("way")).rejects.toMatchObject({ code: "ENOTDIR" });
  });
});
