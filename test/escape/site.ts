import { chmod, chown, cp, lstat, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { SandboxMount, WorkspaceView } from "@sallyport/engine/ports";
import type { Attempt } from "./attempt.ts";
import { differences, type Marks, marksOf } from "./marks.ts";

/** The folders of one attempt: what it may see, and canaries beside and within that. */
export interface Site {
  folder: string;
  workspace: string;
  out: string;
  readOnly: string;
  /** How the workspace is given to the sandbox. */
  given: { workspace: WorkspaceView } | { mounts: SandboxMount[] };
  hidden: string[];
  /** Where what the process writes ends up. */
  written: string;
  watched: string[];
  before: Marks;
}

export interface SiteOrder {
  folder: string;
  attempt: Attempt;
  /** The text that nobody inside may ever read. */
  token: string;
  user: { uid: number; gid: number };
}

/**
 * Everything is open to everybody on the host: what keeps an attack from a canary must be the sandbox, not a mode.
 */
export async function makeSite(order: SiteOrder): Promise<Site> {
  const { folder } = order;
  const workspace = join(folder, "workspace");
  const out = join(folder, "outside");
  const readOnly = join(folder, "read-only");
  await Promise.all([fillWorkspace(workspace, order), fillOutside(out, order.token), fillReadOnly(readOnly)]);
  const hidden = [".env", ".git/hooks", ".sallyport"].map((name) => join(workspace, name));
  const { given, written } = await giveWorkspace(workspace, order);
  const watched = [out, readOnly, workspace];
  return {
    folder,
    workspace,
    out,
    readOnly,
    given,
    hidden,
    written,
    watched,
    before: await marksOf(watched),
  };
}

async function fillWorkspace(workspace: string, { token, attempt }: SiteOrder): Promise<void> {
  await openFolder(join(workspace, ".git/hooks"));
  await openFolder(join(workspace, ".sallyport"));
  await openFile(join(workspace, ".env"), token);
  await openFile(join(workspace, ".git/config"), "[core]\n");
  await openFile(join(workspace, ".git/hooks/pre-commit"), `#!/bin/sh\n# ${token}\n`, 0o777);
  await openFile(join(workspace, ".sallyport/key.txt"), token);
  await openFile(join(workspace, "notes.txt"), "notes\n");
  if (attempt.largeFileBytes !== undefined) {
    await openFile(join(workspace, "large.bin"), Buffer.alloc(attempt.largeFileBytes, "x"));
  }
  await Promise.all([".git", "."].map((name) => chmod(join(workspace, name), 0o777)));
}

async function fillOutside(out: string, token: string): Promise<void> {
  await openFolder(out);
  await openFile(join(out, "secret.txt"), token);
}

async function fillReadOnly(folder: string): Promise<void> {
  await openFolder(folder);
  await openFile(join(folder, "kept.txt"), "this stays as it is\n".repeat(8));
}

async function giveWorkspace(workspace: string, order: SiteOrder): Promise<Pick<Site, "given" | "written">> {
  const { folder, attempt } = order;
  if (attempt.workspace === "copy") {
    const copy = join(folder, "copy");
    await cp(workspace, copy, { recursive: true, preserveTimestamps: true });
    return { given: { workspace: { kind: "copy", root: workspace, copy } }, written: copy };
  }
  const [upper, work] = [join(folder, "upper"), join(folder, "work")];
  for (const path of [upper, work]) {
    await openFolder(path);
    if (process.getuid?.() === 0) await chown(path, order.user.uid, order.user.gid);
  }
  return { given: { workspace: { kind: "overlay", root: workspace, upper, work } }, written: upper };
}

async function openFolder(path: string): Promise<void> {
  await mkdir(path, { recursive: true });
  await chmod(path, 0o777);
}

async function openFile(path: string, content: string | Buffer, mode = 0o666): Promise<void> {
  await writeFile(path, content);
  await chmod(path, mode);
}

/** What the attempt did to the host, in words; empty when nothing. */
export async function harmTo(site: Site, user: { uid: number }): Promise<string[]> {
  const changed = differences(site.before, await marksOf(site.watched));
  return [...changed, ...(await dangerousEntries(site.written, user.uid))];
}

/** A process that goes on writing after its sandbox is said to be gone. */
export async function stillWriting(site: Site): Promise<string[]> {
  const path = join(site.written, "alive");
  const look = (): Promise<string | undefined> => readFile(path, "utf8").catch(() => undefined);
  const before = await look();
  if (before === undefined) return [];
  await delay(100);
  return (await look()) === before ? [] : ["something still writes into the workspace"];
}

const SET_ID = 0o6000;

/** What would give whoever finds it on the host more than the sandbox's user has. */
async function dangerousEntries(folder: string, uid: number): Promise<string[]> {
  const found: string[] = [];
  for (const name of await readdir(folder, { encoding: "buffer" }).catch(() => [])) {
    const path = Buffer.concat([Buffer.from(`${folder}/`), name]);
    const stats = await lstat(path);
    const label = path.toString();
    if (stats.isFile() && (stats.mode & SET_ID) !== 0 && stats.uid !== uid)
      found.push(`${label} is a program that runs as user ${stats.uid} for everybody`);
    if (stats.isBlockDevice() || (stats.isCharacterDevice() && stats.rdev !== 0))
      found.push(`${label} is a device node`);
  }
  return found;
}
