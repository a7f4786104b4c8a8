import { describe, expect, it } from "vitest";
import { SAMPLE_PLAN, SAMPLE_SYSTEM, sampleBind } from "../plan/fixtures/sample-plan.ts";
import { bubblewrapArgv, nestedArgv } from "./bubblewrap-backend.ts";

const argv = bubblewrapArgv(SAMPLE_PLAN);
const line = argv.join(" ");

describe("bubblewrap's arguments", () => {
  it("ask for every namespace, no capability and no way to outlive us", () => {
    for (const flag of [
      "--unshare-user",
      "--unshare-all",
      "--die-with-parent",
      "--new-session",
      "--as-pid-1",
    ]) {
      expect(argv).toContain(flag);
    }
    expect(line).toContain("--cap-drop ALL");
    expect(line).toContain("--uid 1000 --gid 1000");
    expect(argv).not.toContain("--share-net");
  });

  it("hand over the environment as it is and nothing inherited", () => {
    expect(argv.slice(argv.indexOf("--clearenv"), argv.indexOf("--proc"))).toEqual([
      ...["--clearenv", "--setenv", "PATH", "/usr/bin", "--setenv", "NOTE", "a b"],
    ]);
  });

  it("make the file system in the plan's order and lock it afterwards", () => {
    expect(line).toContain(
      [
        "--proc /proc --dev /dev --ro-bind /usr /usr --symlink usr/bin /bin",
        "--perms 1777 --size 1024 --tmpfs /tmp --bind /data /ws",
        "--tmpfs /ws/.git/hooks --remount-ro /ws/.git/hooks --ro-bind /dev/null /ws/.env",
        "--remount-ro /dev --remount-ro / --chdir /ws -- /run/sallyport/launcher init -- sh",
      ].join(" "),
    );
  });

  it("never mount /sys, /run or the host's /etc", () => {
    for (const path of ["/sys", "/run", "/etc", "/"]) expect(line).not.toContain(`-bind ${path} `);
  });
});

describe("a tool's sandbox inside its agent's [L3-EXE-1]", () => {
  const outer = {
    bubblewrap: "/usr/bin/bwrap",
    system: SAMPLE_SYSTEM,
    own: ["/own"],
    bounds: { agent: "ada", limits: {}, filesystem: [{ path: "/data", mode: "ro" as const }] },
  };

  function outerPart(mounts: typeof SAMPLE_PLAN.mounts, bounds = outer.bounds) {
    const whole = nestedArgv({ ...outer, bounds }, { ...SAMPLE_PLAN, mounts });
    return whole.slice(0, whole.indexOf("/usr/bin/bwrap")).join(" ");
  }

  it("holds the whole inner sandbox unchanged", () => {
    const whole = nestedArgv(outer, SAMPLE_PLAN);
    expect(whole.slice(whole.indexOf("/usr/bin/bwrap") + 1)).toEqual(argv);
  });

  it("shows what the agent has, no more and no stronger", () => {
    const part = outerPart([
      sampleBind("/data/in", "rw"),
      sampleBind("/home", "ro"),
      sampleBind("/own/etc", "ro"),
    ]);
    expect(part).toContain("--ro-bind /data/in /data/in");
    expect(part).toContain("--ro-bind /own/etc /own/etc");
    expect(part).not.toContain("/home");
    expect(part).not.toContain("--bind /");
  });

  it("goes by the host's path where the launcher mounted it elsewhere", () => {
    const seen = { ...sampleBind("/home", "ro"), source: "/own/at-1" };
    expect(outerPart([seen])).not.toContain("/own/at-1");
    expect(outerPart([{ ...seen, host: "/data" }])).toContain("--ro-bind /own/at-1 /own/at-1");
  });

  it("shows the system from where the launcher put it, to itself and to the inner one", () => {
    const part = outerPart([{ ...sampleBind("/usr", "ro"), source: "/own/at-2" }]);
    expect(part).toContain("--ro-bind /own/at-2 /usr --ro-bind /own/at-2 /own/at-2");
    expect(part).not.toContain("--ro-bind /usr");
  });

  it("can make namespaces, or there could be no inner one", () => {
    const part = outerPart([]);
    expect(part).not.toContain("--disable-userns");
    expect(part).not.toContain("--seccomp");
  });
});
