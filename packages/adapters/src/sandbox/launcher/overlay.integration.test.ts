import { execFileSync } from "node:child_process";
import {
  chownSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import {
  hostUser,
  launcherChoice,
  NOBODY,
  run,
  type Setting,
  settings,
  temporaryFolder,
} from "./fixtures/settings.ts";
import { scanUpper } from "./scan-upper.ts";
import type { OverlayMount } from "./supervise-argv.ts";

/** Names that would mean something in an option string. */
const readableNames = ["a,b", "a:b", "a b", "a\\b", "a\\,:=b", "é", "-x"];

/** Empty layers in a folder, owned by whoever has to write them. */
function emptyOverlay(folder: string, setting: Setting): OverlayMount {
  const overlay = {
    lower: join(folder, "lower"),
    upper: join(folder, "upper"),
    work: join(folder, "work"),
    target: join(folder, "target"),
  };
  for (const path of Object.values(overlay)) {
    mkdirSync(path, { mode: 0o755 });
    giveAway(path, setting);
  }
  return overlay;
}

/** The files kept, deleted and dir/old, owned by the sandbox's user. */
function fillLower(lower: string, setting: Setting): void {
  mkdirSync(join(lower, "dir"));
  for (const name of ["kept", "deleted", "dir/old"]) writeFileSync(join(lower, name), "before");
  for (const name of ["kept", "deleted", "dir/old", "dir"]) giveAway(join(lower, name), setting);
}

/** To the sandbox's user, when that is not us. */
function giveAway(path: string, setting: Setting): void {
  if (setting.asRoot || hostUser(setting).as) chownSync(path, NOBODY.uid, NOBODY.gid);
}

describe.each(settings())("copy-on-write view: $name", (setting) => {
  it("shows a changed folder to the sandbox alone [R1-5.2]", async () => {
    using folder = temporaryFolder();
    const overlay = emptyOverlay(folder.path, setting);
    fillLower(overlay.lower, setting);
    const { end, stdout, stderr } = await run(setting, {
      command: [
        "sh",
        "-c",
        "echo after > kept; rm deleted; rm -r dir; mkdir dir; ln -s nowhere dir/link; ls",
      ],
      init: { folder: overlay.target },
      folder: overlay.target,
      supervise: { overlay },
    });
    expect({ end: end.how, stderr, stdout }).toEqual({ end: "exited", stderr: "", stdout: "dir\nkept\n" });
    expect(readdirSync(overlay.target)).toEqual([]);
    expect(readdirSync(overlay.lower)).toEqual(["deleted", "dir", "kept"]);
    expect(readFileSync(join(overlay.lower, "kept"), "utf8")).toBe("before");
    expect(readFileSync(join(overlay.upper, "kept"), "utf8")).toBe("after\n");
    const entries = await scanUpper(overlay.upper, {
      userXattr: !setting.asRoot,
      ...launcherChoice(setting),
    });
    expect(entries.map(({ path, type, opaque, target }) => ({ path, type, opaque, target }))).toEqual([
      { path: "deleted", type: "whiteout", opaque: false },
      { path: "dir", type: "folder", opaque: true },
      { path: "dir/link", type: "symlink", opaque: false, target: "nowhere" },
      { path: "kept", type: "file", opaque: false },
    ]);
  });

  it.each(readableNames)("takes layers in a folder named %j", async (name) => {
    using folder = temporaryFolder();
    const place = join(folder.path, name);
    mkdirSync(place);
    const overlay = emptyOverlay(place, setting);
    writeFileSync(join(overlay.lower, "file"), "x");
    const { end, stdout } = await run(setting, {
      command: ["sh", "-c", "cat file; rm file"],
      init: { folder: overlay.target },
      folder: overlay.target,
      supervise: { overlay },
    });
    expect({ how: end.how, code: end.code, stdout }).toEqual({ how: "exited", code: 0, stdout: "x" });
    expect(readdirSync(overlay.upper)).toEqual(["file"]);
  });

  it("does not run the command without its view", async () => {
    using folder = temporaryFolder();
    const overlay = { ...emptyOverlay(folder.path, setting), lower: join(folder.path, "absent") };
    const { end, stdout } = await run(setting, { command: ["echo", "ran"], supervise: { overlay } });
    expect(stdout).toBe("");
    expect(end).toMatchObject({ how: "backend-failed", message: "open the layers of the overlay" });
  });

  it("shows and gives nothing behind a link that was put into a path after it was checked [X-26]", async () => {
    using folder = temporaryFolder();
    const [empty, target, real, link] = ["empty", "target", "real", "link"].map((name) =>
      join(folder.path, name),
    ) as [string, string, string, string];
    for (const path of [empty, target, join(real, "data")]) mkdirSync(path, { mode: 0o777, recursive: true });
    writeFileSync(join(real, "data", "file"), "x");
    symlinkSync(real, link);
    execFileSync("mkfifo", [join(real, "fifo")]);
    const show = async (source: string, point: string, socket = false) => {
      const { end, stdout } = await run(setting, {
        command: ["sh", "-c", 'cat "$0/file" 2>/dev/null; [ -p "$0" ] && echo fifo', point],
        supervise: { views: [{ empty, source, target: point, socket }] },
      });
      return stdout || end.message;
    };
    const file = join(folder.path, "point");
    writeFileSync(file, "");
    expect(await show(join(real, "data"), target)).toBe("x");
    expect(await show(join(link, "data"), target)).toBe(`open ${join(link, "data")}`);
    expect(await show(join(real, "fifo"), file, true)).toBe("fifo\n");
    expect(await show(join(link, "fifo"), file, true)).toBe(`open ${join(link, "fifo")}`);
    const other = join(real, "data", "file");
    expect(await show(other, file, true)).toBe(`give the socket ${other}`);
  });

  it("binds a folder for the backend alone", async () => {
    using folder = temporaryFolder();
    const [source, target] = [join(folder.path, "source"), join(folder.path, "target")];
    for (const path of [source, target]) mkdirSync(path, { mode: 0o777 });
    writeFileSync(join(source, "file"), "x");
    const { stdout } = await run(setting, {
      command: ["ls", target],
      folder: target,
      supervise: { binds: [{ source, target }] },
    });
    expect(stdout).toBe("file\n");
    expect(readdirSync(target)).toEqual([]);
  });
});

describe.each(settings().filter(({ asRoot }) => asRoot))("mapped owners: $name", (setting) => {
  it("shows root's files as the sandbox's own, and leaves them root's", async () => {
    using folder = temporaryFolder();
    const overlay = emptyOverlay(folder.path, setting);
    chownSync(overlay.lower, 0, 0);
    writeFileSync(join(overlay.lower, "private"), "secret", { mode: 0o600 });
    writeFileSync(join(overlay.lower, "other"), "other", { mode: 0o644 });
    chownSync(join(overlay.lower, "other"), 1234, 1234);
    const { end, stdout, stderr } = await run(setting, {
      command: [
        "sh",
        "-c",
        "cat private; echo more >> private; stat -c ' %u %n' private other; echo new > new",
      ],
      init: { folder: overlay.target },
      folder: overlay.target,
      supervise: { overlay, idmap: { uid: 0, gid: 0 } },
    });
    expect({ how: end.how, stderr }).toEqual({ how: "exited", stderr: "" });
    // In bubblewrap's user namespace a third party has no name and is shown as nobody.
    const third = setting.wrapped ? NOBODY.uid : 1234;
    expect(stdout).toBe(`secret ${NOBODY.uid} private\n ${third} other\n`);
    expect(readFileSync(join(overlay.lower, "private"), "utf8")).toBe("secret");
    expect(lstatSync(join(overlay.lower, "private")).uid).toBe(0);
    expect(readFileSync(join(overlay.upper, "private"), "utf8")).toBe("secretmore\n");
    expect(lstatSync(join(overlay.upper, "private")).uid).toBe(NOBODY.uid);
    expect(lstatSync(join(overlay.upper, "new")).uid).toBe(NOBODY.uid);
  });

  it("lets the sandbox write root's copy as its own, and what it makes is root's outside", async () => {
    using folder = temporaryFolder();
    const [source, target] = [join(folder.path, "source"), join(folder.path, "target")];
    for (const path of [source, target]) mkdirSync(path);
    const { stderr } = await run(setting, {
      command: ["sh", "-c", 'echo x > "$0/file"', target],
      folder: target,
      supervise: { binds: [{ source, target, idmap: true }], idmap: { uid: 0, gid: 0 } },
    });
    expect(stderr).toBe("");
    expect(lstatSync(join(source, "file")).uid).toBe(0);
  });
});
