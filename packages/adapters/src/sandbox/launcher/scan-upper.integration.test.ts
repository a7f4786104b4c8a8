import { spawnSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  linkSync,
  lstatSync,
  mkdirSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { launcherChoice, NOBODY, settings, temporaryFolder } from "./fixtures/settings.ts";
import { scanUpper } from "./scan-upper.ts";

describe.each(settings().filter(({ wrapped }) => !wrapped))("scan of a layer: $name", (setting) => {
  const options = { userXattr: !setting.asRoot, ...launcherChoice(setting) };

  it("lists parents before children, sorted by bytes", async () => {
    using folder = temporaryFolder();
    for (const path of ["b", "b/x", "a", "B", "é"]) mkdirSync(join(folder.path, path));
    for (const path of ["b/a", "b.txt", "b/x/1"]) writeFileSync(join(folder.path, path), "");
    const paths = (await scanUpper(folder.path, options)).map(({ path }) => path);
    expect(paths).toEqual(["B", "a", "b", "b/a", "b/x", "b/x/1", "b.txt", "é"]);
  });

  it("tells what the file system knows, exactly", async () => {
    using folder = temporaryFolder();
    const file = join(folder.path, "file");
    writeFileSync(file, "12345");
    chmodSync(file, 0o4751);
    utimesSync(file, -5, -5.5);
    linkSync(file, join(folder.path, "twin"));
    const [entry, twin] = await scanUpper(folder.path, options);
    const { ino, dev, blocks, mtimeNs } = lstatSync(file, { bigint: true });
    expect(entry).toMatchObject({ type: "file", mode: 0o4751, size: 5, nlink: 2, ino, dev, mtimeNs });
    expect(entry?.blocks).toBe(Number(blocks));
    expect(twin?.ino).toBe(ino);
  });

  it("gives names that are not UTF-8 as bytes, and odd ones as they are", async () => {
    using folder = temporaryFolder();
    const raw = Buffer.from([0x78, 0xff, 0xc3, 0x28]);
    const odd = ['"\\\n\t\u0001\u007f', "\u2028", "\u{1f600}", "-", " "];
    for (const name of odd) writeFileSync(join(folder.path, name), "");
    writeFileSync(Buffer.concat([Buffer.from(`${folder.path}/`), raw]), "");
    symlinkSync(raw, join(folder.path, "link"));
    const entries = await scanUpper(folder.path, options);
    expect(entries.map(({ path }) => path)).toEqual(expect.arrayContaining(odd));
    expect(entries.find(({ pathBytes }) => pathBytes)?.pathBytes).toEqual(raw);
    expect(entries.find(({ path }) => path === "link")?.targetBytes).toEqual(raw);
  });

  it("names what is neither file nor folder, and follows no link", async () => {
    using folder = temporaryFolder();
    symlinkSync("/etc", join(folder.path, "link"));
    spawnSync("mkfifo", [join(folder.path, "pipe")]);
    const server = createServer().listen(join(folder.path, "socket"));
    const entries = await scanUpper(folder.path, options).finally(() => server.close());
    expect(entries.map(({ path, type }) => [path, type])).toEqual([
      ["link", "symlink"],
      ["pipe", "fifo"],
      ["socket", "socket"],
    ]);
  });

  it("looks into a folder that is closed to its owner, and leaves it closed", async () => {
    using folder = temporaryFolder();
    const closed = join(folder.path, "closed");
    mkdirSync(closed);
    writeFileSync(join(closed, "file"), "");
    if (options.as) chownSync(closed, NOBODY.uid, NOBODY.gid);
    for (const mode of [0, 0o600, 0o300]) {
      chmodSync(closed, mode);
      const entries = await scanUpper(folder.path, options);
      expect(entries.map((entry) => [entry.path, entry.type === "folder" && entry.mode])).toEqual([
        ["closed", mode],
        ["closed/file", false],
      ]);
      expect(lstatSync(closed).mode & 0o7777).toBe(mode);
    }
    chmodSync(closed, 0o700);
  });

  it("fails rather than list a part", async () => {
    using folder = temporaryFolder();
    for (const name of ["a", "b", "c"]) writeFileSync(join(folder.path, name), "");
    expect(await scanUpper(folder.path, { ...options, maxEntries: 3 })).toHaveLength(3);
    await expect(scanUpper(folder.path, { ...options, maxEntries: 2 })).rejects.toMatchObject({
      failure: { code: "E3101", message: expect.stringContaining("more entries than allowed") },
    });
    await expect(scanUpper(join(folder.path, "absent"), options)).rejects.toMatchObject({
      failure: { code: "E3101", message: expect.stringContaining("No such file") },
    });
  });

  it("fails on a folder deeper than any path can name", async () => {
    using folder = temporaryFolder();
    const name = "d".repeat(200);
    const dig = `for (1 .. 22) { mkdir "${name}" or die; chdir "${name}" or die }`;
    expect(spawnSync("perl", ["-e", dig], { cwd: folder.path }).status).toBe(0);
    const clear = () => spawnSync("rm", ["-rf", join(folder.path, name)]);
    await expect(scanUpper(folder.path, options).finally(clear)).rejects.toMatchObject({
      failure: { message: expect.stringContaining("too long") },
    });
  });
});
