import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { closeSync, constants, openSync, readSync, realpathSync } from "node:fs";
import { mkdir, readFile, rename, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import type { SandboxMount } from "@sallyport/engine/ports";
import { expect, it } from "vitest";
import { inOpenFolder, MIB, makeView, type OpenSandbox, ran, sampleOrder } from "./sandbox-fixture.ts";

/** What every level keeps from a process. */
export function cleanlinessContract(open: OpenSandbox): void {
  it("gives a clean environment: the order's and nothing of the host's [FR-EXE-06]", async () => {
    process.env.SALLYPORT_TEST_LEAK = "host";
    const { stdout } = await ran(open(), "env", { env: { MINE: "a b\nc=d", EMPTY: "" } });
    delete process.env.SALLYPORT_TEST_LEAK;
    expect(stdout).toContain("MINE=a b\nc=d\n");
    expect(stdout).toContain("EMPTY=\n");
    const names = stdout.split("\n").flatMap((line) => /^([A-Za-z_]+)=/.exec(line)?.[1] ?? []);
    const known = [
      "PATH",
      "HOME",
      "TMPDIR",
      "USER",
      "LOGNAME",
      "SHELL",
      "LANG",
      "PWD",
      "OLDPWD",
      "SHLVL",
      "_",
    ];
    expect(names.filter((name) => !known.includes(name)).toSorted()).toEqual(["EMPTY", "MINE", "c"]);
  });

  it("has no descriptor but the standard ones", async () => {
    const script = "i=0; while [ $i -lt 200 ]; do [ -e /proc/$$/fd/$i ] && echo $i; i=$((i+1)); done";
    expect((await ran(open(), script)).stdout).toBe("0\n1\n2\n");
  });

  it("is not root, inside or outside", async () => {
    const { stdout } = await ran(open(), "id -u; cat /proc/self/status");
    expect(Number(stdout.split("\n")[0])).toBeGreaterThan(0);
    expect(stdout).toMatch(/CapEff:\s+0+\n/);
    expect(stdout).toMatch(/NoNewPrivs:\s+1\n/);
  });

  it("has a session of its own and no terminal", async () => {
    const { stdout } = await ran(
      open(),
      "( : < /dev/tty ) 2>/dev/null && echo terminal; cut -d' ' -f6 /proc/$$/stat; echo $$",
    );
    const [session, pid] = stdout.trim().split("\n");
    expect(session).toBe(pid);
  });

  it("starts in its folder, or says that it cannot", async () => {
    expect((await ran(open(), "pwd", { cwd: "/usr" })).stdout).toBe("/usr\n");
    const { end, stderr } = await ran(open(), "pwd", { cwd: "/no/such/folder" });
    expect(end.ending).toEqual({ kind: "exited", code: 127 });
    expect(stderr).toContain("folder");
  });
}

/** File systems that a sandbox has of its own. */
const MADE_INSIDE = ["overlay", "tmpfs", "proc", "devpts", "mqueue"];
/** What is bound as it is: made by the sandbox, and nobody else puts anything there. /dev and /proc have named devices. */
const OWN_FOLDERS = ["/", "/etc", "/run/sallyport"];

/** What LEVEL_2 keeps from a process besides. */
export function isolationContract(open: OpenSandbox): void {
  it("cannot write its system, and has a /tmp of its own", async () => {
    const script =
      "for p in / /usr /etc /run /dev /proc/sys/kernel/hostname; do ( : > $p/x ) 2>/dev/null && echo $p; done";
    expect((await ran(open(), script)).stdout).toBe("");
    await inOpenFolder(async (folder) => {
      const { stdout } = await ran(open(), `echo kept > /tmp/mine && cat /tmp/mine; ls -A ${folder} 2>&1`);
      expect(stdout).toMatch(/^kept\n.*No such file/);
    });
  });

  it("has a /tmp no larger than it may write", async () => {
    const { stdout, end } = await ran(open(), "head -c 9M /dev/zero > /tmp/f || echo full; wc -c < /tmp/f", {
      limits: { diskBytes: 4 * 1024 * 1024 },
    });
    expect(stdout).toBe(`full\n${4 * 1024 * 1024}\n`);
    expect(end.enforcement.disk).toBe("tmpfs");
  });

  it("sees its own processes only", async () => {
    const { stdout } = await ran(
      open(),
      `ls -d /proc/[0-9]* | wc -l; kill -0 ${process.pid} 2>&1; ls /proc/${process.pid + 4e6} 2>&1`,
    );
    expect(Number(stdout.split("\n")[0])).toBeLessThan(8);
  });

  it("has no network: neither the host's loopback nor its abstract sockets", async () => {
    const server = createServer((socket) => socket.end("reached")).listen(0, "127.0.0.1");
    await new Promise((resolve) => server.once("listening", resolve));
    const address = server.address();
    const port = typeof address === "object" ? address?.port : 0;
    const { stdout } = await ran(
      open(),
      `bash -c 'exec 3<>/dev/tcp/127.0.0.1/${port} && cat <&3' 2>&1; cat /proc/net/dev; ls /sys 2>&1`,
    );
    await new Promise((resolve) => server.close(resolve));
    expect(stdout).toContain("Connection refused");
    expect(stdout).not.toContain("reached");
    expect([...stdout.matchAll(/^\s*(\w+):\s+\d/gm)].map((line) => line[1])).toEqual(["lo"]);
    expect(stdout).toMatch(/\/sys.*No such file/);
  });

  it("sees nothing of the host's /etc that is not everybody's", async () => {
    const { stdout } = await ran(
      open(),
      "ls /etc/shadow /etc/sudoers /etc/machine-id /root /home /var/run 2>/dev/null; id -un; cat /etc/passwd",
    );
    expect(stdout.split("\n")).toEqual([
      "sandbox",
      "sandbox:x:1000:1000:sandbox:/tmp:/bin/sh",
      "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin",
      "",
    ]);
  });

  it("sees mounts as ordered, and links lead only where the order was checked for", () =>
    inOpenFolder(async (folder) => {
      await mkdir(join(folder, "in"));
      await writeFile(join(folder, "in", "a"), "A");
      await symlink("in", join(folder, "link"));
      const { stdout } = await ran(open(), "cat /in/a /l/a; ( : > /in/b ) 2>/dev/null && echo wrote", {
        mounts: [
          { source: join(folder, "in"), target: "/in", mode: "ro" },
          { source: join(folder, "link"), target: "/l", mode: "ro" },
        ],
      });
      expect(stdout).toBe("AA");
    }));

  it("sees nothing of the host but through an overlay, so that no socket leads out [X-26]", () =>
    inOpenFolder(async (folder) => {
      const mounts = [{ source: folder, target: "/in", mode: "ro" as const }];
      const { stdout } = await ran(open(), "cat /proc/self/mountinfo", { mounts });
      const seen = stdout
        .trim()
        .split("\n")
        .map((line) => line.split(" "));
      const kindOf = (fields: string[]) => fields[fields.indexOf("-") + 1] ?? "";
      const direct = seen
        .filter((fields) => !MADE_INSIDE.includes(kindOf(fields)))
        .map((fields) => fields[4] ?? "");
      expect(OWN_FOLDERS).toEqual(
        expect.arrayContaining(direct.filter((path) => !/^\/(dev|proc)\//.test(path))),
      );
      expect(seen.filter((fields) => kindOf(fields) === "overlay").map((fields) => fields[4])).toEqual(
        expect.arrayContaining(["/usr", "/in"]),
      );
    }));

  it("sees what is mounted in a folder that it may read, or is refused where that cannot be shown [X-26]", () =>
    inOpenFolder(async (folder) => {
      if (process.getuid?.() !== 0) {
        // Every host has something mounted there.
        const mounts = [{ source: "/", target: "/in", mode: "ro" as const }];
        const failure = { code: "E3101", message: expect.stringContaining(" is mounted in it") };
        await expect(ran(open(), "true", { mounts })).rejects.toMatchObject({ failure });
        return;
      }
      const below = join(folder, "a b");
      await mkdir(below);
      execFileSync("mount", ["-t", "tmpfs", "none", below]);
      const covered = join(folder, "covered");
      await mkdir(join(covered, "by"), { recursive: true });
      for (const path of [join(covered, "by"), covered]) execFileSync("mount", ["-t", "tmpfs", "none", path]);
      try {
        await writeFile(join(below, "file"), "seen");
        execFileSync("mkfifo", ["-m", "0666", join(below, "fifo")]);
        using made = new DisposableStack();
        const reader = openSync(join(below, "fifo"), constants.O_RDWR | constants.O_NONBLOCK);
        made.defer(() => closeSync(reader));
        const mounts = [{ source: folder, target: "/in", mode: "ro" as const }];
        const script = "cat '/in/a b/file'; timeout 1 sh -c 'echo out > \"/in/a b/fifo\"'; echo \" $?\"";
        const { stdout } = await ran(open(), script, { mounts });
        expect(stdout).toBe("seen 124\n");
        expect(() => readSync(reader, Buffer.alloc(9))).toThrow("EAGAIN");
      } finally {
        for (const path of [below, covered, join(covered, "by")]) execFileSync("umount", [path]);
      }
    }));

  it("reaches a socket that is given by name, and no other, and says so [X-26]", () =>
    inOpenFolder(async (folder) => {
      await using made = new AsyncDisposableStack();
      const [given = "", other = ""] = ["given.sock", "other.sock"].map((name) => join(folder, name));
      for (const path of [given, other]) {
        const server = createServer((socket) => socket.end("reached"));
        await once(server.listen({ path, readableAll: true, writableAll: true }), "listening");
        made.defer(() => void server.close());
      }
      const mounts: SandboxMount[] = [
        { source: realpathSync(process.execPath), target: "/node", mode: "ro" },
        { source: folder, target: folder, mode: "ro" },
        { source: given, target: given, mode: "ro", socket: true },
      ];
      const connect = (path: string) =>
        `/node -e 'require("net").connect("${path}").on("error", (e) => console.log(e.code)).on("data", (d) => console.log(String(d)))'`;
      const order = sampleOrder(open(), `${connect(given)}; ${connect(other)}`, { mounts });
      const started = await open().sandbox.start(order);
      started.stdin.end();
      started.stderr.resume();
      expect(await text(started.stdout)).toBe("reached\nECONNREFUSED\n");
      expect(started.isolation).toMatchObject({ level: "LEVEL_2", sockets: [given] });
      await started.ended;
      const unnamed = ran(open(), "true", { mounts: [{ source: given, target: "/s", mode: "ro" }] });
      await expect(unnamed).rejects.toMatchObject({ failure: { code: "E3105" } });
      const filesystem = [{ path: folder, mode: "ro" as const }];
      const bounds = { agent: "a", limits: {}, filesystem };
      const bounded = ran(open(), "true", { mounts: mounts.slice(2), bounds });
      await expect(bounded).rejects.toMatchObject({ failure: { code: "E3105" } });
    }));

  it("starts a runtime that reserves much memory and uses little, whatever holds the limit", async () => {
    const node: SandboxMount = { source: realpathSync(process.execPath), target: "/node", mode: "ro" };
    const { stdout, stderr } = await ran(open(), "/node -e 'console.log(1)'", {
      mounts: [node],
      limits: { memoryBytes: 64 * MIB },
    });
    expect(stdout, stderr).toBe("1\n");
  });

  it("is given nothing writable but a workspace", () =>
    inOpenFolder(async (folder) => {
      const writable = { source: folder, target: "/m", mode: "rw" as never };
      await expect(ran(open(), "true", { mounts: [writable] })).rejects.toMatchObject({
        failure: { code: "E3105" },
      });
    }));

  it("does not see hidden paths, nor puts anything in their place", () =>
    inOpenFolder(async (folder) => {
      const workspace = await makeView(folder);
      const home = workspace.root;
      await mkdir(join(home, "sub", ".ssh"), { recursive: true });
      await writeFile(join(home, "sub", ".ssh", "key"), "SECRET");
      await writeFile(join(home, "sub", ".env"), "SECRET");
      const script = [
        ...["ls -A sub/.ssh; cat sub/.env; ( : > sub/.ssh/x ) 2>/dev/null && echo wrote"],
        ...["mv sub sub2 && echo moved; rm -rf sub; cat sub/.env; echo fine > sub/ok && cat sub/ok"],
      ].join("; ");
      const { stdout, stderr } = await ran(open(), script, {
        workspace,
        hidden: [join(home, "sub", ".ssh"), join(home, "sub", ".env"), join(home, "absent")],
        cwd: home,
      });
      expect(stdout).toBe("fine\n");
      expect(stderr).not.toContain("SECRET");
      expect(await readFile(join(home, "sub", ".env"), "utf8")).toBe("SECRET");
      await expect(rename(join(home, "absent"), join(home, "absent2"))).rejects.toThrow("ENOENT");
    }));

  it("ends at the first system call that nobody makes by accident, and records it", async () => {
    const { stdout, end } = await ran(open(), "unshare -r true; echo survived");
    expect(end.ending.kind).toBe("violation");
    expect(stdout).toBe("");
    expect(end.violations).toEqual([
      expect.objectContaining({ type: "SYSCALL", severity: "CRITICAL", subject: "unshare", times: 1 }),
    ]);
    expect(end.violations[0]?.description).toBe("unshare was called by unshare");
  });

  it("survives what ordinary programs probe for, and records it", async () => {
    const { stdout, end } = await ran(open(), "dmesg > /dev/null 2>&1; echo survived");
    expect(end.ending).toEqual({ kind: "exited", code: 0 });
    expect(stdout).toBe("survived\n");
    expect(end.violations).toEqual([expect.objectContaining({ subject: "syslog", severity: "MEDIUM" })]);
  });
}
