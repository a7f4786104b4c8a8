import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { open, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { FileStaging, Sandbox, Workspaces } from "@sallyport/engine/ports";
import { runInside } from "./sandbox-orders.ts";
import { type Racer, type RaceSize, race } from "./sandbox-race.ts";
import { isOnPath, succeed } from "./sandbox-references.ts";
import { type RaceReport, report } from "./sandbox-report.ts";

const FILES = 100;
const BYTES = 1_024;
const PLAIN = "100 files written and fsynced";
const GIT = "git add + git commit of 100 files";
const STAGED = "apply + keep, written by a tool in this process";
const OVERLAID = "apply + keep, written by a sandboxed process";

/** The commit of a call that edited 100 files, against less careful ways of keeping them. */
export async function raceCommits(
  { sandbox, workspaces, folder }: { sandbox: Sandbox; workspaces: Workspaces; folder: string },
  size: RaceSize,
): Promise<RaceReport> {
  const git = isOnPath("git");
  const racers: Racer[] = [
    plainRacer(await fill(join(folder, "plain"))),
    ...(git ? [await gitRacer(await fill(join(folder, "git")))] : []),
    stagedRacer(await fill(join(folder, "staged")), workspaces),
    overlaidRacer(await fill(join(folder, "overlaid")), workspaces, sandbox),
  ];
  const timings = await race(racers, size);
  const commit = { what: "commit", of: STAGED, as: "ratio" as const };
  return report(`Keeping ${FILES} edited files of ${BYTES} bytes`, timings, {
    aims: [
      { ...commit, against: PLAIN },
      { ...commit, against: GIT },
      { ...commit, what: "commit of a process's edits", of: OVERLAID, against: PLAIN },
    ],
    unavailable: git ? [] : ["git: it is not on PATH"],
  });
}

const MANY = 8_000;
const FOLDERS = 400;
const DEPTH = 8;
const MANY_PLAIN = "the files written and fsynced, one after the other";
const MANY_STAGED = "apply + keep";

/** The commit of a call that made many files, deep in new folders. */
export async function raceNewFiles(
  { workspaces, folder }: { workspaces: Workspaces; folder: string },
  size: RaceSize,
): Promise<RaceReport> {
  const places = Array.from({ length: FOLDERS }, (_, index) => [`d${index}`, ...Array(DEPTH - 1).fill("d")]);
  const paths = Array.from(
    { length: MANY },
    (_, index) => `${places[index % FOLDERS]?.join("/")}/${nameOf(index)}`,
  );
  const timings = await race(
    [newPlainRacer(folder, paths), newStagedRacer({ workspaces, folder }, paths)],
    size,
  );
  return report(`Keeping ${MANY} new files of ${BYTES} bytes in ${FOLDERS * DEPTH} new folders`, timings, {
    aims: [{ what: "commit", of: MANY_STAGED, against: MANY_PLAIN, as: "ratio", most: 3 }],
  });
}

function newPlainRacer(folder: string, paths: readonly string[]): Racer {
  let root = "";
  return {
    name: MANY_PLAIN,
    ready: async () => {
      root = mkdtempSync(join(folder, "new-plain-"));
    },
    run: async () => {
      for (const path of new Set(paths.map(dirname))) mkdirSync(join(root, path), { recursive: true });
      for (const path of paths) await writeSynced(join(root, path), fresh());
    },
    settle: async () => rmSync(root, { recursive: true }),
  };
}

function newStagedRacer(
  { workspaces, folder }: { workspaces: Workspaces; folder: string },
  paths: readonly string[],
): Racer {
  let root = "";
  let staging: FileStaging | undefined;
  return {
    name: MANY_STAGED,
    ready: async () => {
      root = mkdtempSync(join(folder, "new-staged-"));
      staging = begin(workspaces, root);
      const { files } = staging;
      for (const path of newFolders(paths)) await files.makeFolder(path);
      for (const path of paths) await files.write(path, fresh());
    },
    run: async () => {
      const committed = await staging?.apply();
      if (!committed?.ok) throw new Error(`nothing was committed: ${JSON.stringify(committed)}`);
      await staging?.keep();
    },
    settle: async () => {
      await workspaces.expire();
      rmSync(root, { recursive: true });
    },
  };
}

/** Every folder on the way to the paths, outer ones first. */
function newFolders(paths: readonly string[]): Set<string> {
  const parts = [...new Set(paths.map(dirname))].map((path) => path.split("/"));
  return new Set(parts.flatMap((all) => all.map((_, index) => all.slice(0, index + 1).join("/"))));
}

const nameOf = (index: number) => `file-${index}.txt`;

/** Different each time: an edit that changes nothing is no effect. */
function fresh(): string {
  return crypto
    .randomUUID()
    .padEnd(BYTES - 1, "abcdefgh ")
    .concat("\n");
}

function each(write: (name: string, content: string) => Promise<unknown>): Promise<unknown> {
  const content = fresh();
  return Promise.all(Array.from({ length: FILES }, (_, index) => write(nameOf(index), content)));
}

async function fill(root: string): Promise<string> {
  mkdirSync(root, { recursive: true, mode: 0o755 });
  await each((name, content) => writeFile(join(root, name), content));
  return root;
}

/** One after the other, in place: no copy to go back to, and half of it after a crash. */
function plainRacer(root: string): Racer {
  return {
    name: PLAIN,
    run: async () => {
      const content = fresh();
      for (let index = 0; index < FILES; index += 1) await writeSynced(join(root, nameOf(index)), content);
    },
  };
}

async function writeSynced(path: string, content: string): Promise<void> {
  const file = await open(path, "w");
  try {
    await file.writeFile(content);
    await file.sync();
  } finally {
    await file.close();
  }
}

async function gitRacer(root: string): Promise<Racer> {
  const env = { ...process.env, GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_SYSTEM: "/dev/null" };
  const who = ["-c", "user.name=bench", "-c", "user.email=bench@example.com", "-c", "gc.auto=0"];
  const git = (...args: string[]) => succeed(["git", "-C", root, ...who, ...args], { env });
  await git("init", "--quiet");
  return {
    name: GIT,
    ready: () => fill(root),
    run: async () => {
      await git("add", "--all");
      await git("commit", "--quiet", "--message", "bench");
    },
  };
}

function begin(workspaces: Workspaces, root: string): FileStaging {
  const rules = { root, writable: true, denied: [] };
  return workspaces.begin({ callId: crypto.randomUUID(), rules, maxBytes: 100_000_000 });
}

async function commit(staging: FileStaging | undefined): Promise<void> {
  const committed = await staging?.apply();
  if (!committed?.ok) throw new Error(`nothing was committed: ${JSON.stringify(committed)}`);
  if (committed.effects.files.length !== FILES) throw new Error("not every file was committed");
  await staging?.keep();
}

function stagedRacer(root: string, workspaces: Workspaces): Racer {
  let staging: FileStaging | undefined;
  return {
    name: STAGED,
    ready: async () => {
      staging = begin(workspaces, root);
      const { files } = staging;
      await each((name, content) => files.write(name, content));
    },
    run: () => commit(staging),
    settle: () => workspaces.expire(),
  };
}

function overlaidRacer(root: string, workspaces: Workspaces, sandbox: Sandbox): Racer {
  let staging: FileStaging | undefined;
  const script = 'for file in *.txt; do printf "%s" "$1" > "$file"; done';
  return {
    name: OVERLAID,
    ready: async () => {
      staging = begin(workspaces, root);
      const argv = ["/bin/sh", "-c", script, "sh", fresh()];
      await runInside(sandbox, argv, { workspace: await staging.view(), cwd: root });
    },
    run: () => commit(staging),
    settle: () => workspaces.expire(),
  };
}
