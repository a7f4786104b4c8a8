import { describe, expect, it } from "vitest";
import { SAMPLE_PLAN } from "../plan/fixtures/sample-plan.ts";
import { ociConfig, rootLinks } from "./oci-config.ts";
import { runtimeArgv, runtimeOf, versionProblem } from "./runtime-argv.ts";

const USER = { uid: 65_534, gid: 65_533 };
const paths = { bundle: "/b", state: "/b/state", id: "x" };

describe("an OCI configuration", () => {
  const config = ociConfig(SAMPLE_PLAN, { runtime: "crun", user: USER });

  it("runs the plan's command without privileges", () => {
    expect(config.process).toMatchObject({
      terminal: false,
      args: SAMPLE_PLAN.argv,
      env: ["PATH=/usr/bin", "NOTE=a b"],
      user: { uid: 1000, gid: 1000 },
      noNewPrivileges: true,
    });
    expect(Object.values(config.process.capabilities).flat()).toEqual([]);
  });

  it("has namespaces of its own and one user in them", () => {
    expect(config.linux.namespaces.map(({ type }) => type)).toEqual(
      expect.arrayContaining(["user", "pid", "mount", "network", "ipc", "uts"]),
    );
    expect(config.linux.uidMappings).toEqual([{ containerID: 1000, hostID: 65_534, size: 1 }]);
    expect(config.linux.gidMappings).toEqual([{ containerID: 1000, hostID: 65_533, size: 1 }]);
  });

  it("cannot write its root, nor what it is shown read-only", () => {
    expect(config.root.readonly).toBe(true);
    const byTarget = new Map(config.mounts.map((mount) => [mount.destination, mount]));
    expect(byTarget.get("/usr")?.options).toContain("ro");
    expect(byTarget.get("/dev")?.options).toContain("ro");
    expect(byTarget.get("/ws")).toMatchObject({
      source: "/data",
      options: ["rbind", "nosuid", "nodev", "rw"],
    });
    expect(byTarget.get("/tmp")?.options).toContain("size=1024");
    expect(byTarget.get("/ws/.env")).toMatchObject({ source: "/dev/null" });
    expect(byTarget.get("/ws/.git/hooks")?.options).toContain("ro");
    expect(byTarget.has("/sys")).toBe(false);
  });

  it("leaves links to whoever fills the root", () => {
    expect(rootLinks(SAMPLE_PLAN)).toEqual([{ path: "/bin", leadsTo: "usr/bin" }]);
    expect(config.mounts.some((mount) => mount.destination === "/bin")).toBe(false);
  });

  it("makes runc's root step down before anything of ours runs", () => {
    const runc = ociConfig(SAMPLE_PLAN, { runtime: "runc", user: USER });
    expect(runc.process.user).toEqual({ uid: 0, gid: 0 });
    expect(runc.linux.uidMappings).toEqual([{ containerID: 0, hostID: 65_534, size: 1 }]);
    expect(runc.process.args.slice(0, 6)).toEqual([
      ...["/usr/bin/unshare", "--user", "--map-user=1000", "--map-group=1000", "--keep-caps", "--"],
    ]);
  });
});

describe("an OCI runtime", () => {
  it("is called without cgroups and with the channel", () => {
    expect(runtimeArgv("crun", paths).join(" ")).toBe(
      "--root /b/state --cgroup-manager=disabled run --bundle /b --preserve-fds=1 x",
    );
    expect(runtimeArgv("runc", paths)).toEqual(
      expect.arrayContaining(["--rootless=true", "--preserve-fds=1"]),
    );
    expect(runtimeArgv("runsc", paths)).toEqual(
      expect.arrayContaining(["--network=none", "--ignore-cgroups"]),
    );
  });

  it("is known by its name", () => {
    expect(runtimeOf("/opt/bin/runsc")).toBe("runsc");
    expect(runtimeOf("crun-wasm")).toBe("crun");
    expect(runtimeOf("docker")).toBeUndefined();
  });

  it("says when runsc is too old for real work [L3-EXE-2]", () => {
    expect(versionProblem("runsc", "runsc version 0.0~20221219.0\nspec: 1.0.2-dev")).toMatch(
      /20221219.*too old/,
    );
    expect(versionProblem("runsc", "runsc version release-20250407.0")).toBeUndefined();
    expect(versionProblem("runsc", "who knows")).toMatch(/too old/);
    expect(versionProblem("crun", "crun version 1.8.1")).toBeUndefined();
  });
});
