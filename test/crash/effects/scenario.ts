import { writeSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { Workspaces } from "@sallyport/engine/ports";
import { openWorkspaces, type StepHook } from "../../../packages/adapters/src/workspace/index.ts";
import { type FileOp, performAll } from "../../../packages/adapters/src/workspace/testing/file-ops.ts";
import { inCopy, inProcess } from "../../../packages/adapters/src/workspace/testing/view-workers.ts";

/*
 * One life of a call's files, in the harness to see what it comes to, and in a victim that dies on the way. Everything
 * that has happened is said before the next thing begins.
 */

/** What the life is about. */
export const STORIES = ["apply", "take back", "undo", "hold", "apply held"] as const;
export type Story = (typeof STORIES)[number];

export interface Scenario {
  story: Story;
  way: "in process" | "copy";
  /** Holds `ws`, the workspace, and `state`. */
  base: string;
  tree: FileOp[];
  ops: FileOp[];
}

export type Mark = "applied" | "recorded" | "taken back" | "kept" | "undone" | "held";

/** Tells the harness; it is written before anything else happens. */
export function sayMark(mark: Mark): void {
  writeSync(1, `${mark}\n`);
}

/** Lays out the workspace. */
export async function layOut({ base, tree }: Scenario): Promise<void> {
  await mkdir(join(base, "ws"), { recursive: true });
  await performAll(join(base, "ws"), tree);
}

export function openIn({ base }: Scenario, onStep: StepHook): Promise<Workspaces> {
  return openWorkspaces({ folder: join(base, "state"), view: "copy", onStep });
}

/** What has to be there before the part in which the victim dies. */
export async function prepare(scenario: Scenario): Promise<void> {
  const workspaces = await openIn(scenario, () => undefined);
  if (scenario.story === "undo") {
    const call = await staged(scenario, workspaces);
    await call.apply();
    await call.keep();
  }
  if (scenario.story === "apply held") await (await staged(scenario, workspaces)).hold("waiting");
}

/** The part in which the victim dies. */
export async function live(scenario: Scenario, onStep: StepHook, say: (mark: Mark) => void): Promise<void> {
  const workspaces = await openIn(scenario, onStep);
  if (scenario.story === "undo") {
    const undone = await workspaces.undo("call");
    if (!undone.ok && undone.reason !== "unknown") throw new Error(JSON.stringify(undone));
    return say("undone");
  }
  const held = scenario.story === "apply held" ? await workspaces.resumeHeld("waiting", "call") : undefined;
  const call = held ?? (await staged(scenario, workspaces));
  if (scenario.story === "hold") {
    await call.hold("waiting");
    return say("held");
  }
  const applied = await call.apply();
  if (!applied.ok) throw new Error(JSON.stringify(applied));
  say("applied");
  if (scenario.story === "take back") {
    const { verified } = await call.rollback();
    if (!verified) throw new Error("the rollback did not verify");
    return say("taken back");
  }
  say("recorded");
  await call.keep();
  say("kept");
}

async function staged({ way, base, ops }: Scenario, workspaces: Workspaces) {
  const rules = { root: join(base, "ws"), writable: true, denied: [] };
  const call = workspaces.begin({ callId: "call", rules, maxBytes: 1e9 });
  const worker = way === "copy" ? inCopy : inProcess;
  await worker.work(call, ops, { strict: false });
  return call;
}
