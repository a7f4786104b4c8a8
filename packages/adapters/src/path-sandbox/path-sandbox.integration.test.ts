import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { lstat } from "node:fs/promises";
import { join } from "node:path";
import { type Failure, isFailure, SallyportError } from "@sallyport/protocol";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type HostileTree, plantHostileTree } from "./fixtures/hostile-tree.ts";
import { type CheckedPath, openPathSandbox, type PathSandbox } from "./index.ts";

let tree: HostileTree;
let sandbox: PathSandbox;
beforeEach(() => {
  tree = plantHostileTree();
  sandbox = openPathSandbox({ roots: [tree.root] });
});
afterEach(() => tree.remove());

async function passed(path: string, from = sandbox): Promise<CheckedPath> {
  const answer = await from.check(path);
  if (isFailure(answer)) throw new Error(answer.message);
  return answer;
}

async function refused(path: string, from = sandbox): Promise<Failure> {
  const answer = await from.check(path);
  if (!isFailure(answer)) throw new Error(`${path} passed`);
  return answer;
}

function thrownBy(open: () => unknown): SallyportError {
  try {
    open();
  } catch (error) {
    if (error instanceof SallyportError) return error;
  }
  throw new Error("it was opened, or broke");
}

describe("a checked path", () => {
  it("is canonical, absolute, and says where and what it is [FR-VAL-04] [FR-VAL-04a]", async () => {
    const { root } = tree;
    expect(await passed("in-chain-1")).toEqual({
      asked: "in-chain-1",
      path: join(root, "src/app.ts"),
      root,
      relative: "src/app.ts",
      exists: true,
      type: "file",
    });
    expect(await passed("./in-folder/new//x.ts")).toEqual({
      asked: "./in-folder/new//x.ts",
      path: join(root, "src/new/x.ts"),
      root,
      relative: "src/new/x.ts",
      exists: false,
    });
    expect(await passed(".")).toEqual({
      asked: ".",
      path: root,
      root,
      relative: ".",
      exists: true,
      type: "folder",
    });
    expect(await passed("pipe")).toMatchObject({ type: "other" });
  });

  it("is refused with one line that keeps what is outside, and what to do once, beside it [T-SBX-01] [T-SBX-02] [T-SBX-03]", async () => {
    const upwards = await refused("../outside/secret.txt");
    expect(upwards).toMatchObject({
      code: "E3955",
      message: 'The path "../outside/secret.txt" has ".." in it.',
      advice: 'Use a path without "..", from the working folder.',
      details: { attempted: "../outside/secret.txt" },
    });
    expect(await refused("/etc/passwd")).toMatchObject({
      message: 'The path "/etc/passwd" is absolute.',
      advice: "Use a path relative to the working folder.",
    });
    expect(await refused("out-folder/secret.txt")).toMatchObject({
      message: 'The path "out-folder/secret.txt" leads outside the allowed folders.',
      advice: "Use a path inside one of the allowed folders.",
      details: { attempted: "out-folder/secret.txt", resolved: join(tree.outside, "secret.txt") },
    });
  });

  it("is held against denied patterns where it really is [T-SBX-03] [FR-VAL-05] [NFR-SEC-03]", async () => {
    const through = await refused("src/to-keys/server.pem");
    expect(through).toMatchObject({
      code: "E3956",
      details: { attempted: "src/to-keys/server.pem", pattern: "**/*.pem" },
    });
    expect(through.message).toMatch(/is denied by the pattern "\*\*\/\*\.pem"\.$/);
    expect(through.advice).toMatch(/^Use another file/);
  });

  it("is denied no defaults when they are left out, but what is configured [FR-VAL-03] [FR-VAL-05]", async () => {
    const open = openPathSandbox({
      roots: [tree.root],
      includeDefaultDenies: false,
      deniedPatterns: ["*.pem"],
    });
    expect(await passed(".ssh/config", open)).toMatchObject({ type: "file" });
    expect((await refused("keys/server.pem", open)).code).toBe("E3956");
    expect(open.deniedBy(join(tree.root, "keys/server.pem"))).toBe("*.pem");
  });
});

async function msOf(work: () => Promise<unknown>): Promise<number> {
  const started = performance.now();
  await work();
  return performance.now() - started;
}

/** The middle one after warming up. */
function typical(times: readonly number[]): number {
  return times.slice(100).toSorted((one, other) => one - other)[250] ?? Number.NaN;
}

describe("the time of a check", () => {
  it("is below a millisecond for a path that exists, typically [NFR-PERF-02]", async () => {
    const path = "src/deep/er/x.txt";
    const looks: number[] = [];
    const checks: number[] = [];
    for (let turn = 0; turn < 600; turn += 1) {
      looks.push(await msOf(() => lstat(join(tree.root, path))));
      checks.push(await msOf(() => passed(path)));
    }
    // The better half after warming up: a machine that is busy with other tests only ever adds. Where a mere look at a
    // file takes long, a check of a path of four names may take as many times longer as it has to look.
    expect(typical(checks)).toBeLessThan(Math.max(1, 20 * typical(looks)));
  });
});

describe("several roots and a working folder", () => {
  it("are told apart name by name, and a link may lead from one to the other [FR-VAL-03]", async () => {
    const two = openPathSandbox({ roots: [tree.root, tree.outside, tree.root], allowAbsolute: true });
    expect(two.roots).toEqual([tree.root, tree.outside]);
    expect(await passed("out-folder/secret.txt", two)).toMatchObject({
      root: tree.outside,
      relative: "secret.txt",
    });
    expect((await refused("evil/secret.txt", two)).code).toBe("E3955");
    expect((await refused(join(tree.outside, ".ssh/config"), two)).code).toBe("E3956");
  });

  it("resolve relative paths from the working folder, which need not be a root [FR-VAL-03] [FR-VAL-04]", async () => {
    const deep = openPathSandbox({ roots: [tree.root], cwd: join(tree.root, "in-folder/deep") });
    expect(deep.cwd).toBe(join(tree.root, "src/deep"));
    expect(await passed("er/x.txt", deep)).toMatchObject({ relative: "src/deep/er/x.txt" });
    expect((await refused("../app.ts", deep)).code).toBe("E3955");
  });

  it("take the system's top for a root, with its credentials denied [FR-VAL-05]", async () => {
    const top = openPathSandbox({ roots: ["/"], allowAbsolute: true, cwd: "/" });
    expect(await passed(join(tree.outside, "secret.txt"), top)).toMatchObject({ root: "/" });
    expect(await passed(".", top)).toMatchObject({ path: "/", relative: "." });
    for (const path of ["/etc/shadow", "/proc/self/environ", "proc/1/environ"])
      expect((await refused(path, top)).code).toBe("E3956");
  });

  it.each<[string, () => Parameters<typeof openPathSandbox>[0], RegExp]>([
    ["no root", () => ({ roots: [] }), /no allowed folder/],
    ["a missing root", () => ({ roots: [join(tree.base, "none")] }), /cannot be used \(ENOENT\)/],
    ["a file as root", () => ({ roots: [join(tree.root, "readme.md")] }), /is not a folder/],
    ["a blank root", () => ({ roots: [" "] }), /has no path/],
    ["a denied root", () => ({ roots: [join(tree.root, ".ssh")] }), /is itself denied by the pattern/],
    ["a folder outside", () => ({ roots: [tree.root], cwd: tree.outside }), /is in no allowed folder/],
    ["a denied folder", () => ({ roots: [tree.root], cwd: join(tree.root, ".git") }), /is itself denied/],
  ])("refuse %s at the start with E3919 and advice [FR-VAL-03]", (_what, options, message) => {
    expect(() => openPathSandbox(options())).toThrow(message);
    const { failure } = thrownBy(() => openPathSandbox(options()));
    expect(failure).toMatchObject({ code: "E3919", advice: expect.stringMatching(/\.$/) });
    expect(failure.message).not.toContain(failure.advice);
  });
});

describe("a path checked again right before its use", () => {
  it("passes while all is as it was [FR-VAL-06]", async () => {
    for (const path of ["readme.md", "in-folder/app.ts", "src", "nowhere/x", "pipe"])
      expect(await sandbox.checkedAgain(await passed(path)), path).toBeUndefined();
  });

  it.each<[string, string, () => void, string]>([
    ["a link out in the folder's place", "src/app.ts", () => swap("src", tree.outside), "E3955"],
    ["a link inside in the folder's place", "src/app.ts", () => swap("src", "src-moved"), "E3955"],
    ["a link in the file's place", "readme.md", () => swap("readme.md", "../outside/secret.txt"), "E3955"],
    ["a link to what is denied", "readme.md", () => swap("readme.md", ".ssh/config"), "E3956"],
    ["a folder in the file's place", "readme.md", () => swap("readme.md"), "E3955"],
    ["nothing any more", "readme.md", () => rmSync(join(tree.root, "readme.md")), "E3955"],
    ["something where nothing was", "new.txt", () => writeFileSync(join(tree.root, "new.txt"), ""), "E3955"],
  ])("is refused for %s [FR-VAL-06] [NFR-SEC-02]", async (_what, path, change, code) => {
    const checked = await passed(path);
    change();
    const refusal = await sandbox.checkedAgain(checked);
    expect(refusal?.code).toBe(code);
    expect(refusal?.message).toContain(`The path "${path}" `);
    expect(refusal?.details).toMatchObject({ attempted: path });
  });

  it("is refused when nobody ever checked it", async () => {
    const checked = await passed("readme.md");
    const forged = { ...checked, path: join(tree.outside, "secret.txt"), root: tree.outside };
    expect((await sandbox.checkedAgain(forged))?.code).toBe("E3955");
    expect((await sandbox.checkedAgain({ ...checked, path: "readme.md" }))?.code).toBe("E3955");
  });
});

function swap(name: string, target?: string): void {
  renameSync(join(tree.root, name), join(tree.root, `${name}-moved`));
  if (target === undefined) mkdirSync(join(tree.root, name));
  else symlinkSync(target, join(tree.root, name));
}
