import { rmSync } from "node:fs";
import { mkdir, mkdtemp, readdir, realpath } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import type { FileStaging, WorkspaceRules, Workspaces } from "@sallyport/engine/ports";
import { openWorkspaces, type WorkspacesOptions } from "../index.ts";
import { type FileOp, perform } from "./file-ops.ts";
import type { ViewWorker } from "./view-workers.ts";

/** The kernel stamps files by a coarse clock; what others do has to be later by it than what the call began with. */
const CLOCK_TICK_MS = 15;

/** A workspace on a real disk with everything around it, gone when the test is. */
export interface Room {
  root: string;
  /** Next to the workspace. */
  base: string;
  workspaces: Workspaces;
  /** A new process would see the same. */
  reopen(): Promise<Workspaces>;
  begin(callId?: string, rules?: Partial<WorkspaceRules> & { maxBytes?: number }): FileStaging;
  /** A call's work in the worker's way. */
  work(staging: FileStaging, ...ops: FileOp[]): Promise<void>;
  /** Straight in the workspace, as someone else. */
  others(...ops: FileOp[]): Promise<void>;
  /** What is left in the staging and held folders. */
  leftovers(): Promise<string[]>;
}

/** Runs a test in one. `tree` is what the workspace holds at first. */
export async function inRoom(
  worker: ViewWorker,
  tree: readonly FileOp[],
  test: (room: Room) => Promise<void>,
  options: Partial<WorkspacesOptions> = {},
): Promise<void> {
  const base = await realpath(await mkdtemp(join(tmpdir(), "sallyport-workspace-")));
  try {
    const root = join(base, "ws");
    await mkdir(root);
    for (const op of tree) await perform(root, op);
    const folder = join(base, "state");
    const reopen = () => openWorkspaces({ folder, view: worker.view, ...options });
    const workspaces = await reopen();
    await test({
      root,
      base,
      workspaces,
      reopen,
      begin: (callId = "call-1", { maxBytes = 1e9, ...rules } = {}) =>
        workspaces.begin({ callId, rules: { root, writable: true, denied: [], ...rules }, maxBytes }),
      work: (staging, ...ops) => worker.work(staging, ops, { strict: true }),
      others: async (...ops) => {
        await wait(CLOCK_TICK_MS);
        for (const op of ops) await perform(root, op);
      },
      leftovers: async () => [
        ...(await readdir(join(folder, "staging"))),
        ...(await readdir(join(folder, "held"))),
      ],
    });
  } finally {
    rmSync(base, { recursive: true, force: true });
  }
}
