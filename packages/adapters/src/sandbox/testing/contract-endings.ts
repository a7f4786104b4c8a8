import { randomBytes } from "node:crypto";
import { buffer, text } from "node:stream/consumers";
import { expect, it } from "vitest";
import { type OpenSandbox, processesWith, ran, ranOrder, sampleOrder } from "./sandbox-fixture.ts";

/** How a process is fed, ends and is ended. */
export function endingsContract(open: OpenSandbox): void {
  it("hands input and both outputs through, byte by byte", async () => {
    const { sandbox, ...fixture } = open();
    const order = sampleOrder(fixture, 'cat; printf "\\000\\377" >&2');
    const process = await sandbox.start(order);
    const input = Buffer.from(Array.from({ length: 100_000 }, (_, index) => index % 251));
    process.stdin.end(input);
    const [out, errors, end] = await Promise.all([
      buffer(process.stdout),
      buffer(process.stderr),
      process.ended,
    ]);
    expect(out.equals(input)).toBe(true);
    expect([...errors]).toEqual([0, 255]);
    expect(end.ending).toEqual({ kind: "exited", code: 0 });
  });

  it("tells exit codes, signals and programs that are not there apart", async () => {
    const fixture = open();
    const ending = async (script: string) => (await ran(fixture, script)).end.ending;
    expect(await ending("exit 7")).toEqual({ kind: "exited", code: 7 });
    expect(await ending("exit 137")).toEqual({ kind: "exited", code: 137 });
    expect(await ending("kill -KILL $$")).toEqual({ kind: "signalled", signal: "SIGKILL" });
    expect(await ending("kill -TERM $$")).toEqual({ kind: "signalled", signal: "SIGTERM" });
    const missing = await ranOrder(fixture.sandbox, sampleOrder(fixture, "", { argv: ["no-such-program"] }));
    expect(missing.end.ending).toEqual({ kind: "exited", code: 127 });
    expect(missing.stderr).toContain("no-such-program");
  });

  it("says what is really in force", async () => {
    const { sandbox, level } = open();
    const process = await sandbox.start(sampleOrder({ level }, "true"));
    process.stdin.end();
    expect(process.isolation.level).toBe(level);
    expect(await sandbox.isolationFor(level)).toEqual(process.isolation);
    await process.ended;
  });

  it("kills the whole tree on timeout, also who forked twice, left the session and ignores SIGTERM [FR-EXE-05]", async () => {
    const marker = `4${randomBytes(3).readUIntBE(0, 3)}`;
    const daemon = `trap "" TERM HUP INT; echo up; while :; do sleep ${marker}; done`;
    const script = `(setsid sh -c '${daemon}' &) ; trap "" TERM; sleep ${marker}`;
    const { stdout, end } = await ran(open(), script, { limits: { wallMs: 5_000 } });
    expect(stdout).toBe("up\n");
    expect(end.ending).toEqual({ kind: "timeout" });
    expect(await processesWith(marker)).toEqual([]);
  });

  it("leaves nobody behind who outlives the command [FR-EXE-05]", async () => {
    const marker = `5${randomBytes(3).readUIntBE(0, 3)}`;
    const { end } = await ran(open(), `setsid sleep ${marker} > /dev/null 2>&1 & exit 3`);
    expect(end.ending).toEqual({ kind: "exited", code: 3 });
    expect(await processesWith(marker)).toEqual([]);
  });

  it("ends at once when killed, and again does no harm", async () => {
    const { sandbox, ...fixture } = open();
    const process = await sandbox.start(sampleOrder(fixture, "echo on; sleep 60"));
    process.stdin.end();
    process.stdout.once("data", () => process.kill());
    const [, end] = await Promise.all([text(process.stdout), process.ended]);
    process.kill();
    expect(end.ending).toEqual({ kind: "killed" });
  });

  it("measures what was used [R1-5.2]", async () => {
    const busy = "i=0; while [ $i -lt 600000 ]; do i=$((i+1)); done";
    const { end } = await ran(open(), busy);
    expect(end.usage.cpuMs).toBeGreaterThan(20);
    expect(end.usage.memoryPeakBytes).toBeGreaterThan(100_000);
    expect(end.usage).toMatchObject({ networkBytesSent: 0, networkBytesReceived: 0 });
  });
}
