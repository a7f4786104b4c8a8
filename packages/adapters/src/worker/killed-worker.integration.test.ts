import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { RunResult } from "@sallyport/engine/ports";
import { afterEach, expect, it } from "vitest";
import { workerJob } from "./fixtures/worker-double.ts";
import { createWorkerRunner } from "./worker-runner.ts";

const PROGRAM = new URL("./fixtures/worker-process.ts", import.meta.url).pathname;
const children: ChildProcess[] = [];
afterEach(() => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
});

/** A worker in a process of its own: says its port, then each request that it has got. */
async function startWorker(port: number, mode: "hangs" | "answers") {
  const child = spawn(process.execPath, [PROGRAM, String(port), mode], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  children.push(child);
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  const said = async () => String((await lines.next()).value);
  return { child, said, port: Number(await said()) };
}

function reasonOf(result: RunResult): unknown {
  return !result.ok && result.fault.kind === "failed" ? result.fault.failure.details?.reason : result;
}

it("a worker that is killed in the middle of a call fails it, then fails fast, and is used again once it is back", async () => {
  let now = 0;
  const runner = createWorkerRunner({ now: () => now });
  const first = await startWorker(0, "hangs");
  const job = workerJob(`http://127.0.0.1:${first.port}`);
  const running = runner.run(job);
  expect(await first.said()).toBe("got call-1");
  first.child.kill("SIGKILL");
  expect(reasonOf(await running)).toBe("broken_off");
  await once(first.child, "exit");
  expect(reasonOf(await runner.run(job))).toBe("unreached");
  expect(reasonOf(await runner.run(job))).toBe("down");
  const second = await startWorker(first.port, "answers");
  now += 1_000;
  expect(await runner.run(job)).toMatchObject({ ok: true });
  expect(await second.said()).toBe("got call-1");
  expect(runner.health()).toMatchObject([{ state: "up" }]);
  await runner.close();
});
