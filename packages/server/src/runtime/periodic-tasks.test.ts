import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { startTasks } from "./periodic-tasks.ts";

describe("periodic tasks", () => {
  it("runs a task again and again, never twice at a time, until it is stopped", async () => {
    let [now, most, done] = [0, 0, 0];
    const run = async () => {
      now += 1;
      most = Math.max(most, now);
      await sleep(5);
      now -= 1;
      done += 1;
    };
    const runtime = startTasks([{ name: "dust", everyMs: 1, run }], () => undefined);
    while (done < 3) await sleep(2);
    await runtime.stop();
    const atStop = done;
    expect([now, most]).toEqual([0, 1]);
    await sleep(20);
    expect(done).toBe(atStop);
  });

  it("reports a failing task once, goes on trying, and tells again after it had worked", async () => {
    const outcomes = [true, false, false, true, false, true];
    let turn = 0;
    const told: string[] = [];
    const run = async () => {
      if (outcomes[turn++] === false) throw new Error(`turn ${turn}`);
    };
    const runtime = startTasks([{ name: "dust", everyMs: 1, run }], (name, error) =>
      told.push(`${name}: ${String(error)}`),
    );
    while (turn < outcomes.length) await sleep(2);
    await runtime.stop();
    expect(told).toEqual(["dust: Error: turn 2", "dust: Error: turn 5"]);
  });
});
