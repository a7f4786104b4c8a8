import { constants } from "node:os";
import { describe, expect, it } from "vitest";
import { LAUNCHER, run, settings, start, textOf } from "./fixtures/settings.ts";
import { supervise } from "./supervise.ts";

describe.each(settings())("a supervised command: $name", (setting) => {
  const sh = (script: string) => run(setting, { command: ["sh", "-c", script] });

  it("gives back exit code, output and error output [FR-EXE-05]", async () => {
    const { end, stdout, stderr } = await sh("echo out; echo err >&2; exit 7");
    expect(end).toMatchObject({ how: "exited", code: 7, signal: 0, left: 0, violations: 0, refused: [] });
    expect({ stdout, stderr }).toEqual({ stdout: "out\n", stderr: "err\n" });
  });

  it("tells exit code 137 from a SIGKILL", async () => {
    expect((await sh("exit 137")).end).toMatchObject({ how: "exited", code: 137, signal: 0 });
    const { SIGKILL, SIGTERM } = constants.signals;
    expect((await sh("kill -9 $$")).end).toMatchObject({ how: "signalled", signal: SIGKILL });
    expect((await sh("kill -15 $$")).end).toMatchObject({ how: "signalled", signal: SIGTERM });
  });

  it("says why a program cannot be run", async () => {
    const absent = await run(setting, { command: ["no-such-program"] });
    expect(absent.end).toMatchObject({ how: "exec-failed", code: 127, errno: constants.errno.ENOENT });
    expect(absent.stderr).toBe("sallyport: cannot run no-such-program: No such file or directory\n");
    const folder = await run(setting, { command: ["/usr"] });
    expect(folder.end).toMatchObject({ how: "exec-failed", code: 126, errno: constants.errno.EACCES });
  });

  it("passes input on and lets the command see its end", async () => {
    const started = start(setting, { command: ["wc", "-c"] });
    started.stdin.end(Buffer.alloc(3_000_000, "x"));
    expect((await textOf(started.stdout)).trim()).toBe("3000000");
    expect(await started.ended).toMatchObject({ how: "exited", code: 0 });
  });

  it("survives a command that does not read its input", async () => {
    const started = start(setting, { command: ["true"] });
    started.stdin.write(Buffer.alloc(5_000_000, "x"));
    expect(await started.ended).toMatchObject({ how: "exited", code: 0 });
    started.stdin.write("more");
  });

  it("names the host's pid of its init", async () => {
    const started = start(setting, { command: ["cat"] });
    const pid = await started.started;
    expect(() => process.kill(pid ?? 0, 0)).not.toThrow();
    started.stdin.end();
    expect(await started.ended).toMatchObject({ how: "exited", code: 0 });
  });

  it("hands on the environment and nothing else", async () => {
    const env = { PATH: "/usr/bin:/bin", WORDS: "a b\nc=d", LD_PRELOAD: "" };
    const { stdout } = await run(setting, { command: ["env", "-0"], supervise: { env } });
    expect(stdout).toBe("PATH=/usr/bin:/bin\0WORDS=a b\nc=d\0LD_PRELOAD=\0");
  });

  it("gives no descriptor away [L3-EXE-2]", async () => {
    const { stdout } = await run(setting, { command: ["ls", "/proc/self/fd"] });
    expect(stdout).toBe("0\n1\n2\n3\n");
  });

  it("starts the command with a clean slate", async () => {
    const { stdout } = await sh("umask; grep -E 'SigBlk|SigIgn|CapInh|CapAmb|NoNewPrivs' /proc/self/status");
    const facts = stdout.trim().split(/\s+/);
    const none = "0000000000000000";
    expect(facts).toEqual([
      "0022",
      "SigBlk:",
      none,
      "SigIgn:",
      none,
      "CapInh:",
      none,
      "CapAmb:",
      none,
      "NoNewPrivs:",
      "1",
    ]);
  });

  it("sets the limits, its folder and its session", async () => {
    const { stdout } = await run(setting, {
      command: [
        "sh",
        "-c",
        "ulimit -Hn; ulimit -Sn; ulimit -f; ulimit -c; ulimit -t; pwd; ps -o sid= -p $$; echo $$",
      ],
      init: { rlimits: { nofile: 77, fsize: 512 * 1024, core: 0, cpu: 9 }, folder: "/usr", session: true },
    });
    const lines = stdout.split("\n").map((line) => line.trim());
    expect(lines.slice(0, 6)).toEqual(["77", "77", "1024", "0", "9", "/usr"]);
    expect(lines[6]).toBe(lines[7]);
  });

  it("never raises a limit above what it has", async () => {
    const { stdout, end } = await run(setting, {
      command: ["sh", "-c", "ulimit -Hn"],
      init: { rlimits: { nofile: 2 ** 40 } },
    });
    expect(end).toMatchObject({ how: "exited", code: 0 });
    expect(Number(stdout)).toBeLessThan(2 ** 40);
  });

  it("does not let the command reach into its init [L3-EXE-2]", async () => {
    const { stdout } = await sh("cat /proc/$PPID/environ 2>&1; ls /proc/$PPID/fd 2>&1; : > /proc/$PPID/mem");
    expect(stdout.match(/Permission denied/g)).toHaveLength(2);
  });

  it("measures what orphans used too", async () => {
    const burn = "i=0; while [ $i -lt 600000 ]; do i=$((i+1)); done";
    const { end } = await sh(`(setsid sh -c '${burn}; echo done' &) | cat`);
    const quiet = await sh("true");
    expect(end.userMs).toBeGreaterThan(quiet.end.userMs + 30);
    expect(end.maxRssBytes).toBeGreaterThan(500_000);
    expect(end.wallMs).toBeGreaterThan(30);
  });

  it("says when the backend breaks before the command runs", async () => {
    const { end } = await run(setting, {
      command: ["true"],
      supervise: { backend: ["/bin/sh", "-c", "exit 3"] },
    });
    expect(end).toMatchObject({ how: "backend-failed", code: 3 });
    const absent = await run(setting, { command: ["true"], supervise: { backend: ["/no/such/backend"] } });
    expect(absent.end).toMatchObject({
      how: "backend-failed",
      errno: constants.errno.ENOENT,
      message: "start the backend",
    });
  });
});

describe("a launcher that cannot do its work", () => {
  it("ends as backend-failed when it cannot be started", async () => {
    const started = supervise({ launcher: "/no/such/launcher", backend: ["true"] });
    started.stdin.write("x");
    expect(await started.started).toBeUndefined();
    expect(await started.ended).toMatchObject({ how: "backend-failed" });
    started.kill();
  });

  it("ends as backend-failed when an argument cannot be passed", async () => {
    const started = supervise({ launcher: LAUNCHER, backend: ["a\0b"] });
    expect(await started.ended).toMatchObject({ how: "backend-failed" });
  });

  it("ends as backend-failed when it prints nonsense instead of a report", async () => {
    const started = supervise({ launcher: "/bin/sh", backend: [] });
    started.stdout.resume();
    started.stdin.end();
    const end = await started.ended;
    expect(end).toMatchObject({ how: "backend-failed" });
    expect(end.message).toContain("without a report");
  });

  it("refuses options it does not understand", async () => {
    const { ended, stderr } = supervise({
      launcher: LAUNCHER,
      backend: ["true"],
      cgroups: ["a"],
      channelFd: 1,
    });
    expect(await textOf(stderr)).toBe("sallyport-launcher: must be 3 or more: --channel-fd\n");
    expect((await ended).message).toContain("exited with 64");
  });

  it("does not run the command outside a cgroup it was to join", async () => {
    const { ended, stdout } = supervise({
      launcher: LAUNCHER,
      backend: ["echo", "ran"],
      cgroups: ["/no/such/cgroup"],
    });
    expect(await textOf(stdout)).toBe("");
    expect(await ended).toMatchObject({ how: "backend-failed", message: "join the cgroup" });
  });
});
