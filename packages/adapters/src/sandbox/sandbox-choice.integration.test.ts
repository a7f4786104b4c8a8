import { execFile } from "node:child_process";
import { realpathSync } from "node:fs";
import { chmod, mkdir, mkdtemp, readdir, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { Sandbox, SandboxOffer } from "@sallyport/engine/ports";
import { describe, expect, it, vi } from "vitest";
import { ownMark } from "./host/process-mark.ts";
import { createSandbox, type SandboxEvent, type SandboxOptions } from "./index.ts";
import { ran, ranOrder, sampleOrder } from "./testing/sandbox-fixture.ts";

async function withSandbox(
  options: Omit<SandboxOptions, "runtimeFolder">,
  test: (sandbox: Sandbox, runtimeFolder: string) => Promise<void>,
): Promise<void> {
  const runtimeFolder = await mkdtemp(join(tmpdir(), "sp-"));
  const sandbox = createSandbox({ runtimeFolder, ...options });
  try {
    await test(sandbox, runtimeFolder);
  } finally {
    await sandbox.close();
    await rm(runtimeFolder, { recursive: true, force: true });
  }
}

const LEVEL_2 = { level: "LEVEL_2" } as const;
const refusal = (message: RegExp) => ({
  failure: { code: "E3101", message: expect.stringMatching(message) },
});

describe("choosing a backend", () => {
  it("refuses a level that cannot be had here, never runs weaker [L3-EXE-2]", () =>
    withSandbox({ backends: ["process"] }, async (sandbox) => {
      const order = sampleOrder(LEVEL_2, "true");
      await expect(sandbox.start(order)).rejects.toMatchObject(refusal(/LEVEL_2 isolation is not available/));
      await expect(sandbox.isolationFor("LEVEL_2")).rejects.toMatchObject(refusal(/LEVEL_2/));
    }));

  it("says that this runsc is too old, or that it works, but does not half-work [L3-EXE-2]", () =>
    withSandbox({ backends: ["oci"], ociRuntime: "runsc" }, async (sandbox) => {
      const [offer] = await sandbox.offers();
      if (offer?.available) return;
      expect(offer?.missing.join()).toMatch(/too old|not installed|could not be made/);
      expect(offer?.fix).not.toEqual([]);
      await expect(sandbox.start(sampleOrder(LEVEL_2, "true"))).rejects.toMatchObject(refusal(/runsc/));
    }));

  it("takes the strongest that offers at least the level", () =>
    withSandbox({}, async (sandbox) => {
      expect(await sandbox.isolationFor("LEVEL_1")).toEqual({ level: "LEVEL_2", runner: "bubblewrap" });
      expect(await sandbox.isolationFor("LEVEL_0")).toEqual({ level: "LEVEL_0", runner: "none" });
    }));

  it("offers no LEVEL_1 where hidden paths cannot be covered, and says what is missing [L3-EXE-2]", async (context) => {
    if (process.getuid?.() !== 0) return context.skip("only root can give the capability up");
    const program = fileURLToPath(new URL("./fixtures/offer-without-capability.ts", import.meta.url));
    const { stdout } = await promisify(execFile)("setpriv", [
      ...["--bounding-set", "-sys_admin", "--inh-caps", "-sys_admin"],
      ...[process.execPath, program],
    ]);
    const [offer] = JSON.parse(stdout) as SandboxOffer[];
    expect(offer).toMatchObject({ backend: "process", available: false });
    expect(offer?.missing.join()).toMatch(/mount namespace/);
    expect(offer?.fix.join()).toMatch(/CAP_SYS_ADMIN/);
  });

  it("looks again after a refusal, so that a full disk that was cleared is no reason any more", async () => {
    const folder = await mkdtemp(join(tmpdir(), "sp-"));
    const runtimeFolder = join(folder, "run");
    await writeFile(runtimeFolder, "in the way");
    const sandbox = createSandbox({ runtimeFolder });
    try {
      const offers = await sandbox.offers();
      expect(offers.map(({ available, transient }) => [available, transient])).toEqual(
        offers.map(() => [false, true]),
      );
      const refused = await sandbox.start(sampleOrder(LEVEL_2, "true")).catch((error: unknown) => error);
      expect(refused).toMatchObject(refusal(/folder for sandboxes/));
      expect(refused).toMatchObject({
        failure: { advice: expect.stringMatching(/`--state-dir`\)[^.]*[^.]\.$/) },
      });
      await rm(runtimeFolder);
      await vi.waitFor(
        async () => expect((await ran({ sandbox, ...LEVEL_2 }, "echo ok")).stdout).toBe("ok\n"),
        { timeout: 20_000 },
      );
    } finally {
      await sandbox.close();
      await rm(folder, { recursive: true });
    }
  });

  it("passes over one that is not there", () =>
    withSandbox({ backends: ["oci", "bubblewrap"], ociRuntime: "/nowhere/crun" }, async (sandbox) => {
      const offers = await sandbox.offers();
      expect(offers.map(({ backend, available }) => [backend, available])).toEqual([
        ["oci-crun", false],
        ["bubblewrap", true],
      ]);
      expect(await sandbox.isolationFor("LEVEL_2")).toEqual({ level: "LEVEL_2", runner: "bubblewrap" });
    }));

  it("shows a folder in which its own folders are, such as a home, without what is hidden in it [X-26]", async () => {
    const folder = await realpath(await mkdtemp(join(tmpdir(), "sp-")));
    await chmod(folder, 0o755);
    await writeFile(join(folder, "file"), "seen");
    const runtimeFolder = join(folder, "state");
    const sandbox = createSandbox({ runtimeFolder, hidden: [runtimeFolder] });
    try {
      // A root host keeps what its sandboxes need below the folder for temporary files.
      for (const source of process.getuid?.() === 0 ? [folder, realpathSync(tmpdir())] : [folder]) {
        const mounts = [{ source, target: source, mode: "ro" as const }];
        const script = `cat ${folder}/file; ls -A ${runtimeFolder}`;
        expect((await ran({ sandbox, ...LEVEL_2 }, script, { mounts })).stdout).toBe("seen");
      }
    } finally {
      await sandbox.close();
      await rm(folder, { recursive: true });
    }
  });

  it("works in a folder with a long path, its way to the network included", async () => {
    const folder = await mkdtemp(join(tmpdir(), "sp-"));
    const sandbox = createSandbox({ runtimeFolder: join(folder, "long".repeat(60), "run") });
    try {
      const script = [
        'IFS=: read -r _ _ port <<< "$HTTP_PROXY"; exec 3<>"/dev/tcp/127.0.0.1/$port"',
        "printf 'GET http://other.invalid/ HTTP/1.1\\r\\nHost: other.invalid\\r\\n\\r\\n' >&3; head -n 1 <&3",
      ];
      const argv = ["/bin/bash", "-c", script.join("; ")];
      const { stdout } = await ran({ sandbox, ...LEVEL_2 }, "", {
        argv,
        egress: [{ host: "example.invalid" }],
      });
      expect(stdout).toMatch(/^HTTP\/1\.1 403 /);
    } finally {
      await sandbox.close();
      await rm(folder, { recursive: true });
    }
  });

  it("runs LEVEL_0 as ourselves, but to its end and within its time", () =>
    withSandbox({ backends: [] }, async (sandbox) => {
      const { stdout } = await ranOrder(sandbox, { ...sampleOrder(LEVEL_2, "id -u"), level: "LEVEL_0" });
      expect(Number(stdout)).toBe(process.getuid?.());
      const slow = {
        ...sampleOrder(LEVEL_2, "sleep 20", { limits: { wallMs: 300 } }),
        level: "LEVEL_0" as const,
      };
      expect((await ranOrder(sandbox, slow)).end.ending).toEqual({ kind: "timeout" });
    }));
});

describe("a sandbox's life", () => {
  it("is told step by step (RFC-0002)", async () => {
    const events: SandboxEvent[] = [];
    await withSandbox(
      { backends: ["bubblewrap"], onEvent: (event) => events.push(event) },
      async (sandbox) => {
        await sandbox.offers();
        events.length = 0;
        const { end } = await ran({ sandbox, ...LEVEL_2 }, "unshare -r true");
        expect(end.ending.kind).toBe("violation");
      },
    );
    expect(events.map(({ event }) => event)).toEqual([
      ...["SANDBOX_CREATED", "SANDBOX_EXITED", "SYSCALL_BLOCKED", "ESCAPE_ATTEMPT", "SANDBOX_DESTROYED"],
    ]);
    expect(events.at(-1)?.details).toEqual({ left: [] });
  });

  it("ends with close, and takes everything with it", () =>
    withSandbox({ backends: ["bubblewrap"] }, async (sandbox, folder) => {
      const running = await sandbox.start(sampleOrder(LEVEL_2, "sleep 60"));
      await sandbox.close();
      expect((await running.ended).ending).toEqual({ kind: "killed" });
      expect(await readdir(folder)).toEqual([]);
      await expect(sandbox.start(sampleOrder(LEVEL_2, "true"))).rejects.toMatchObject(refusal(/closed/));
    }));

  it("removes what a process that is no more left behind", () =>
    withSandbox({ backends: ["bubblewrap"] }, async (sandbox, folder) => {
      const shared = await mkdtemp(join(tmpdir(), "sallyport-"));
      await mkdir(join(folder, "4194304-1-abcd"));
      await symlink(shared, join(folder, "4194304-1-abcd", "public"));
      // In a container the number is the same at every start.
      await mkdir(join(folder, `${process.pid}-1-abcd`));
      await writeFile(join(folder, "notes"), "");
      await sandbox.isolationFor("LEVEL_2");
      const left = (await readdir(folder)).filter((name) => !name.startsWith(ownMark()));
      expect(left).toEqual(["notes"]);
      await expect(readdir(shared)).rejects.toThrow("ENOENT");
    }));
});

describe("the network of a sandbox", () => {
  it("leads to allowed hosts only, is counted, and a refusal is on record", async () => {
    const server = createServer((_, response) => response.end("hello")).listen(0, "127.0.0.1");
    await new Promise((resolve) => server.once("listening", resolve));
    const address = server.address();
    const port = typeof address === "object" && address ? address.port : 0;
    try {
      await withSandbox({ backends: ["bubblewrap"] }, async (sandbox) => {
        const script = `curl -sS http://localhost:${port}/; curl -sS -o /dev/null -w '%{http_code}' http://other.invalid/`;
        const order = sampleOrder(LEVEL_2, script, {
          egress: [{ host: "localhost", port, allowPrivate: true }],
        });
        const { stdout, stderr, end } = await ranOrder(sandbox, order);
        expect({ stdout, stderr }).toEqual({ stdout: "hello403", stderr: "" });
        expect(end.usage.networkBytesReceived).toBeGreaterThan(5);
        expect(end.enforcement.connections).toBe("proxy");
        expect(end.violations).toEqual([
          expect.objectContaining({
            type: "NETWORK",
            severity: "HIGH",
            subject: "other.invalid:80",
            times: 1,
          }),
        ]);
      });
    } finally {
      server.close();
    }
  });
});
