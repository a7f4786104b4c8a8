import { chmod, copyFile, mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { findLauncher, initArgv, supervise } from "./launcher/index.ts";
import { DEFAULT_USER } from "./options.ts";

const REPOSITORY = fileURLToPath(new URL("../../../../", import.meta.url));
const HERE = relative(REPOSITORY, fileURLToPath(new URL(".", import.meta.url)));

describe("for a host process that is root", () => {
  it("an unprivileged one keeps the same contract", { timeout: 1_800_000 }, async (context) => {
    if (process.getuid?.() !== 0) context.skip("not root: the suite itself runs unprivileged");
    const found = findLauncher();
    if ("missing" in found) throw new Error(`${found.missing}: ${found.fix}`);
    const folder = await mkdtemp(join(tmpdir(), "sp-"));
    try {
      await chmod(folder, 0o755);
      const { stdout, how, code } = await runSuite(folder, found.path);
      expect({ how, code }, stdout.slice(-20_000)).toEqual({ how: "exited", code: 0 });
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});

/** Runs the contract's own file as another user, who sees the repository wherever it really is. */
async function runSuite(folder: string, launcher: string) {
  const [view, inside] = [join(folder, "view"), join(folder, "launcher")];
  await mkdir(view);
  await copyFile(launcher, inside);
  await chmod(inside, 0o755);
  const run = supervise({
    launcher,
    user: DEFAULT_USER,
    binds: [{ source: REPOSITORY, target: view }],
    backend: initArgv({
      launcher: inside,
      command: suiteCommand(view),
      folder: view,
      env: true,
      session: true,
    }),
    env: { PATH: "/usr/sbin:/usr/bin:/sbin:/bin", HOME: "/tmp", ...passedOn() },
    wallMs: 1_780_000,
  });
  run.stdin.end();
  const [stdout, stderr, end] = await Promise.all([text(run.stdout), text(run.stderr), run.ended]);
  return { stdout: stdout + stderr, how: end.how, code: end.code };
}

function suiteCommand(view: string): string[] {
  const node = join(view, relative(REPOSITORY, process.execPath));
  return [
    ...[
      process.execPath.startsWith(REPOSITORY) ? node : process.execPath,
      "node_modules/vitest/vitest.mjs",
      "run",
    ],
    // The usual way of reading the configuration writes a file beside it, which this user cannot.
    ...["--configLoader", "native", "--project", "integration", "--no-color"],
    join(HERE, "sandbox.integration.test.ts"),
  ];
}

function passedOn(): Record<string, string> {
  const names = ["CI", "SALLYPORT_REQUIRE_SERVICES", "SALLYPORT_SEED", "SALLYPORT_SOAK"];
  return Object.fromEntries(
    names.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]])),
  );
}
