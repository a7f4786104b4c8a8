import { spawn } from "node:child_process";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { FileStaging, WorkspaceView } from "@sallyport/engine/ports";
import { findLauncher, superviseArgv } from "../../sandbox/launcher/index.ts";
import { type FileOp, perform, performAll } from "./file-ops.ts";

const PROCESS = fileURLToPath(new URL("./perform-ops.ts", import.meta.url));

/** One of the ways in which a call changes files. */
export interface ViewWorker {
  name: "in process" | "overlay" | "copy";
  /** What to open the workspaces with. */
  view: "overlay" | "copy";
  /** Whether hard links and sparse files can be made. */
  full: boolean;
  /** Does it all in the staging. `strict`: rejects when something fails. */
  work(staging: FileStaging, ops: readonly FileOp[], how: { strict: boolean }): Promise<void>;
}

/** Through the file access of the port. */
export const inProcess: ViewWorker = {
  name: "in process",
  view: "copy",
  full: false,
  async work(staging, ops, { strict }) {
    for (const op of ops) {
      const done = stage(staging, op);
      await (strict ? done : done.catch(onlyKnown));
    }
  },
};

/** In a copied view, as any program would. */
export const inCopy: ViewWorker = {
  name: "copy",
  view: "copy",
  full: true,
  async work(staging, ops, { strict }) {
    const view = await staging.view();
    if (view.kind !== "copy") throw new Error("a copy was asked for");
    if (!strict) return performAll(view.copy, ops);
    for (const op of ops) await perform(view.copy, op);
  },
};

/** In the kernel's overlay, by a process that the launcher starts. */
export const inOverlay: ViewWorker = {
  name: "overlay",
  view: "overlay",
  full: true,
  async work(staging, ops, { strict }) {
    const view = await staging.view();
    if (view.kind !== "overlay") throw new Error("an overlay was asked for");
    await runInOverlay(view, JSON.stringify({ strict, ops }));
  },
};

/** Starts the process in the view and waits for its end. */
export async function runInOverlay(view: WorkspaceView & { kind: "overlay" }, orders: string): Promise<void> {
  const launcher = findLauncher();
  if (!("path" in launcher)) throw new Error(`${launcher.missing}; run ${launcher.fix}`);
  const place = dirname(view.upper);
  const target = join(place, "seen");
  await mkdir(target, { recursive: true });
  await writeFile(join(place, "orders.json"), orders);
  const overlay = { lower: view.root, upper: view.upper, work: view.work, target };
  const backend = [process.execPath, PROCESS, target, join(place, "orders.json")];
  await ended(launcher.path, superviseArgv({ launcher: launcher.path, backend, overlay }));
  await rm(target, { recursive: true });
}

function ended(program: string, argv: string[]): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, argv, { stdio: ["ignore", "ignore", "pipe", "pipe"] });
    let said = "";
    for (const stream of [child.stderr, child.stdio[3]])
      stream?.on("data", (chunk: Buffer) => {
        said += chunk.toString();
      });
    child.once("error", reject);
    // The program is not the launcher's init, so its end is told by its exit code alone.
    child.once("close", () =>
      /"how":"backend-failed","code":0,/.test(said) ? resolve() : reject(new Error(said)),
    );
  });
}

function onlyKnown(error: unknown): void {
  if (!(error instanceof Error) || !("code" in error || "failure" in error)) throw error;
}

async function stage({ files }: FileStaging, op: FileOp): Promise<void> {
  const isLink = (await files.stat(op.path))?.type === "symlink";
  // As the system's calls are made in `perform`: not through a link.
  if (isLink && ["write", "append", "truncate", "chmod"].includes(op.do))
    throw Object.assign(new Error(`ELOOP: ${op.path}`), { code: "ELOOP" });
  switch (op.do) {
    case "write":
      return files.write(op.path, op.content, op.mode === undefined ? {} : { mode: op.mode });
    case "append":
      return files.write(op.path, Buffer.concat([await files.read(op.path), Buffer.from(op.content)]));
    case "truncate": {
      const content = Buffer.alloc(op.bytes);
      (await files.read(op.path)).copy(content);
      return files.write(op.path, content);
    }
    case "delete":
    case "remove folder":
      await expectType(files, op);
      return files.remove(op.path);
    case "delete tree":
      return files.remove(op.path, { recursive: true });
    case "move":
      return files.rename(op.path, op.to);
    case "make folder":
      return files.makeFolder(op.path);
    case "chmod":
      return files.setMode(op.path, op.mode);
    case "symlink":
      return files.link(op.path, op.target);
    default:
      throw Object.assign(new Error(`ENOSYS: ${op.do}`), { code: "ENOSYS" });
  }
}

async function expectType(files: FileStaging["files"], op: FileOp): Promise<void> {
  const isFolder = (await files.stat(op.path))?.type === "folder";
  if (isFolder !== (op.do === "remove folder"))
    throw Object.assign(new Error(`EINVAL: ${op.path}`), { code: "EINVAL" });
}
