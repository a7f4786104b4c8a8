import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { SAMPLE_SYSTEM, sampleBind } from "./fixtures/sample-plan.ts";
import { maskHidden } from "./mask-hidden.ts";
import { foldersBetween, isCanonical, isWithin, movedPath } from "./paths.ts";
import { planMounts } from "./plan-mounts.ts";

const parts = {
  system: {
    links: SAMPLE_SYSTEM.links,
    folders: SAMPLE_SYSTEM.folders.map((path) => sampleBind(path, "ro")),
    settings: SAMPLE_SYSTEM.settings.map((path) => sampleBind(path, "ro")),
  },
  settings: "/run/own/etc",
  guest: "/run/own/guest",
  binds: [],
  hidden: [],
  scratchBytes: 100 * 1024 * 1024,
};

describe("a plan of mounts", () => {
  it("shows the system read-only, an /etc of its own and nothing else of the host", () => {
    const binds = planMounts(parts).filter((mount) => mount.kind === "bind");
    expect(binds.map((bind) => bind.target)).toEqual(["/usr", "/etc", "/etc/ssl/certs", "/run/sallyport"]);
    expect(binds.every((bind) => bind.mode === "ro")).toBe(true);
    expect(binds[1]?.source).toBe("/run/own/etc");
  });

  it("bounds what can be written to memory", () => {
    const scratch = planMounts(parts).filter((mount) => mount.kind === "scratch");
    expect(scratch).toEqual([
      { kind: "scratch", target: "/tmp", bytes: 100 * 1024 * 1024 },
      { kind: "scratch", target: "/dev/shm", bytes: 64 * 1024 * 1024 },
    ]);
  });

  it("mounts parents before what is in them, and hides last", () => {
    const binds = [
      sampleBind("/ws/deep/er", "ro"),
      sampleBind("/ws", "rw"),
      sampleBind("/data", "ro", "/ws/deep"),
    ];
    const hidden = [{ path: "/ws/secret", isFolder: true }];
    const targets = planMounts({ ...parts, binds, hidden }).map((mount) => mount.target);
    expect(targets.slice(-4)).toEqual(["/ws", "/ws/deep", "/ws/deep/er", "/ws/secret"]);
  });
});

describe("a hidden path", () => {
  it("is covered wherever a bind shows it", () => {
    const binds = [sampleBind("/home", "ro"), sampleBind("/home/ada", "ro", "/mnt")];
    expect(maskHidden([{ path: "/home/ada/.ssh", isFolder: true }], binds)).toEqual([
      { kind: "emptyFolder", target: "/mnt/.ssh" },
      { kind: "emptyFolder", target: "/home/ada/.ssh" },
    ]);
    expect(maskHidden([{ path: "/etc/shadow", isFolder: false }], binds)).toEqual([]);
  });

  it("keeps its parents from being renamed away where they could be", () => {
    const hidden = [{ path: "/data/a/b/.env", isFolder: false }];
    expect(maskHidden(hidden, [sampleBind("/data", "rw", "/ws")])).toEqual([
      { kind: "bind", source: "/data/a", host: "/data/a", target: "/ws/a", mode: "rw" },
      { kind: "bind", source: "/data/a/b", host: "/data/a/b", target: "/ws/a/b", mode: "rw" },
      { kind: "emptyFile", target: "/ws/a/b/.env" },
    ]);
    expect(maskHidden(hidden, [sampleBind("/data", "ro", "/ws")])).toHaveLength(1);
  });

  it("is covered once, and not again inside a covered folder", () => {
    const hidden = [
      { path: "/d/x", isFolder: true },
      { path: "/d/x/y", isFolder: false },
      { path: "/d/x", isFolder: true },
    ];
    expect(maskHidden(hidden, [sampleBind("/d", "ro")])).toEqual([{ kind: "emptyFolder", target: "/d/x" }]);
  });

  it("is left alone where another mount has taken its place", () => {
    const binds = [sampleBind("/d", "rw"), sampleBind("/other", "rw", "/d/x")];
    expect(maskHidden([{ path: "/d/x/y", isFolder: false }], binds)).toEqual([]);
  });
});

describe("paths", () => {
  const name = fc.stringMatching(/^[a-c.]{1,3}$/).filter((one) => one !== "." && one !== "..");
  const path = fc.array(name, { minLength: 1, maxLength: 4 }).map((names) => `/${names.join("/")}`);

  it("are compared by whole names", () => {
    expect(isWithin("/database", "/data")).toBe(false);
    expect(isWithin("/data/base", "/data")).toBe(true);
    expect(isWithin("/x", "/")).toBe(true);
  });

  it("move and come back", () => {
    fc.assert(
      fc.property(path, path, path, (below, from, to) => {
        const whole = `${from}${below}`;
        expect(movedPath(movedPath(whole, from, to), to, from)).toBe(whole);
        for (const folder of foldersBetween(from, whole)) expect(isWithin(whole, folder)).toBe(true);
      }),
    );
  });

  it("are canonical or not", () => {
    for (const fine of ["/", "/a/b", "/..a"]) expect(isCanonical(fine), fine).toBe(true);
    for (const bad of ["", "a", "/a/", "/a//b", "/a/../b", "/a/.", "/a\0b"])
      expect(isCanonical(bad)).toBe(false);
  });
});
