import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { marked, sleepMark, waitForMarked } from "./fixtures/marked-processes.ts";
import { hostUser, orderFor, run, settings, start } from "./fixtures/settings.ts";

/** A daemon that has left its session and its parent, and does not listen to requests to end. */
function daemon(mark: string): string {
  return `(setsid sh -c 'trap "" TERM HUP INT; (exec sleep ${mark}) & exec sleep ${mark}' >/dev/null 2>&1 &)`;
}

describe.each(settings())("nothing is left: $name", (setting) => {
  it("kills the whole tree on timeout [FR-EXE-05]", async () => {
    const mark = sleepMark();
    const started = start(setting, {
      command: ["sh", "-c", `${daemon(mark)}; trap "" TERM; sleep ${mark}`],
      supervise: { wallMs: 5_000 },
    });
    expect(await waitForMarked(mark, 3)).toBe(true);
    const end = await started.ended;
    expect(marked(mark)).toEqual([]);
    expect(end).toMatchObject({ how: "timeout", left: 0 });
    expect(end.wallMs).toBeGreaterThanOrEqual(5_000);
    expect(end.wallMs).toBeLessThan(60_000);
  });

  it("kills the whole tree when told to, at any time [FR-EXE-05]", async () => {
    const mark = sleepMark();
    const started = start(setting, { command: ["sh", "-c", `${daemon(mark)}; sleep ${mark}`] });
    expect(await waitForMarked(mark, 3)).toBe(true);
    started.kill();
    started.kill();
    expect(await started.ended).toMatchObject({ how: "killed", left: 0 });
    expect(marked(mark)).toEqual([]);
    started.kill();
  });

  it("can be killed before it has started", async () => {
    const mark = sleepMark();
    const started = start(setting, { command: ["sh", "-c", `exec sleep ${mark}`] });
    started.kill();
    expect(await started.ended).toMatchObject({ how: "killed", left: 0 });
    expect(marked(mark)).toEqual([]);
  });

  it("ends what the command left behind when the command ends", async () => {
    const mark = sleepMark();
    const { end } = await run(setting, { command: ["sh", "-c", `${daemon(mark)}; sleep 0.1; exit 5`] });
    expect(end).toMatchObject({ how: "exited", code: 5, left: 0 });
    expect(marked(mark)).toEqual([]);
  });

  it("survives a command that kills everything it can reach", async () => {
    const mark = sleepMark();
    const { end } = await run(setting, {
      command: [
        "sh",
        "-c",
        `${daemon(mark)}; trap "" TERM; kill -TERM $PPID; sleep 0.1; kill -9 $PPID; exit 6`,
      ],
    });
    // Inside its own pid namespace init cannot be killed; without one its death ends the run.
    expect(end.how).toBe(setting.wrapped ? "exited" : "backend-failed");
    expect(marked(mark)).toEqual([]);
  });

  it("wins against a command that forks without end [FR-EXE-05]", async () => {
    const mark = sleepMark();
    // Small enough not to hurt the machine if this should ever fail.
    const { end } = await run(setting, {
      command: ["sh", "-c", `exec perl -e 'setpgrp, fork while 1' ${mark}`],
      init: { rlimits: { nproc: 60 } },
      supervise: { wallMs: 300 },
    });
    expect(end).toMatchObject({ how: "timeout", left: 0 });
    expect(marked(mark)).toEqual([]);
  });

  it("is not held up by a command that stops its init", async () => {
    const mark = sleepMark();
    const { end } = await run(setting, {
      command: ["sh", "-c", `${daemon(mark)}; kill -STOP $PPID; exec sleep ${mark}`],
      supervise: { wallMs: 200 },
    });
    expect(end).toMatchObject({ how: "timeout", left: 0 });
    expect(marked(mark)).toEqual([]);
  });

  it("ends everything when the host process is killed [FR-EXE-05]", async () => {
    const mark = sleepMark();
    const hold = fileURLToPath(new URL("./fixtures/hold.ts", import.meta.url));
    const options = orderFor(setting, { command: ["sh", "-c", `${daemon(mark)}; sleep ${mark}`] });
    const host = spawn(process.execPath, [hold, JSON.stringify({ options, host: hostUser(setting) })], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    await once(host.stdout, "data");
    expect(await waitForMarked(mark, 3)).toBe(true);
    host.kill("SIGKILL");
    expect(await waitForMarked(mark, 0)).toBe(true);
  });

  it("ends as backend-failed when the launcher itself is killed", async () => {
    const mark = sleepMark();
    const started = start(setting, { command: ["sh", "-c", `${daemon(mark)}; sleep ${mark}`] });
    expect(await waitForMarked(mark, 3)).toBe(true);
    process.kill(parentOfInit((await started.started) ?? 0, setting.wrapped), "SIGKILL");
    const end = await started.ended;
    expect(end).toMatchObject({ how: "backend-failed" });
    expect(end.message).toContain("SIGKILL");
    expect(await waitForMarked(mark, 0)).toBe(true);
  });
});

/** The launcher is init's parent, or that of the bubblewrap around it. */
function parentOfInit(init: number, wrapped: boolean): number {
  const parent = parentOf(init);
  return wrapped ? parentOf(parent) : parent;
}

function parentOf(pid: number): number {
  return Number(/^PPid:\s*(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]);
}
