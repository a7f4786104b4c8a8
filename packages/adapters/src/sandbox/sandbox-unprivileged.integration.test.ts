import { once } from "node:events";
import { chmod, copyFile, mkdir, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join, relative } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { findLauncher, initArgv, supervise } from "./launcher/index.ts";
import { DEFAULT_USER } from "./options.ts";
import { inOpenFolder } from "./testing/sandbox-fixture.ts";

const REPOSITORY = fileURLToPath(new URL("../../../../", import.meta.url));
const HERE = relative(REPOSITORY, fileURLToPath(new URL(".", import.meta.url)));

describe("for a host process that is root", () => {
  it("an unprivileged one keeps the same contract", { timeout: 1_800_000 }, async (context) => {
    if (process.getuid?.() !== 0) context.skip("not root: the suite itself runs unprivileged");
    await inOpenFolder(async (folder) => {
      const { stdout, how, code } = await runUnprivileged(folder, suiteCommand);
      expect({ how, code }, stdout.slice(-20_000)).toEqual({ how: "exited", code: 0 });
    });
  });

  it("an unprivileged one shows what is mounted in a system folder, and what lies beside it, without sockets [X-26]", async (context) => {
    if (process.getuid?.() !== 0) context.skip("only root can mount something there");
    await inOpenFolder(async (folder) => {
      const mounted = await openFolder(folder, "mounted");
      const inner = await openFolder(mounted, "inner");
      await openFolder(mounted, "beside");
      for (const path of [mounted, inner]) await writeFile(join(path, "file"), "seen");
      await chmod(join(mounted, "file"), 0o666);
      await symlink("file", join(mounted, "link"));
      await using made = new AsyncDisposableStack();
      for (const path of [mounted, inner]) {
        const server = createServer((socket) => socket.end("reached"));
        await once(
          server.listen({ path: join(path, "s"), readableAll: true, writableAll: true }),
          "listening",
        );
        made.defer(() => void server.close());
      }
      const script = [
        `cd ${IN_SYSTEM}; cat link inner/file; echo; ls; ls inner; ( echo x > link ) 2>/dev/null && echo wrote`,
        `perl -MSocket -e 'socket(S, AF_UNIX, SOCK_STREAM, 0); connect(S, pack_sockaddr_un("inner/s")) or print $!+0'`,
        "echo; grep ' /usr' /proc/self/mountinfo | grep -v ' - overlay ' | cut -d' ' -f5",
      ];
      const { stdout } = await runUnprivileged(folder, scriptCommand(script.join("; ")), [
        { source: mounted, target: IN_SYSTEM },
        { source: inner, target: join(IN_SYSTEM, "inner") },
      ]);
      const seen = ["seenseen", "beside", "file", "inner", "link", "file", "s", "111", `${IN_SYSTEM}/file`];
      const said = { stdout: `${seen.join("\n")}\n`, stderr: "" };
      expect(answers(stdout)).toEqual([said, said]);
    });
  });

  it("an unprivileged one is told which mount is in the way where it cannot be shown, and what helps [L3-EXE-2]", async (context) => {
    if (process.getuid?.() !== 0) context.skip("only root can mount something there");
    await inOpenFolder(async (folder) => {
      const crowded = await openFolder(folder, "crowded");
      for (let i = 0; i < 501; i++) await writeFile(join(crowded, `${i}`), "");
      const inner = await openFolder(crowded, "inner");
      const refusalOf = async (about: RegExp, helps: string, ...mounts: Mounts) => {
        const { stdout } = await runUnprivileged(folder, scriptCommand("true"), mounts);
        const [message, advice] = [expect.stringMatching(about), expect.stringContaining(helps)];
        const offers = [expect.objectContaining({ available: false, fix: expect.arrayContaining([advice]) })];
        const refusal = { code: "E3101", message, advice, offers };
        expect(answers(stdout)).toEqual([refusal, refusal]);
      };
      const within = join(IN_SYSTEM, "inner");
      await refusalOf(
        /share\/inner is mounted in it, and more than 500 .* beside the mounts/,
        `nmount ${within}`,
        { source: crowded, target: IN_SYSTEM },
        { source: inner, target: within },
      );
      // The kernel never makes an overlay of it.
      const about = /could not show \/usr\/local\/share through an overlay: EINVAL/;
      await refusalOf(about, "unmount it", { source: "/proc/fs", target: IN_SYSTEM });
    });
  });
});

type Mounts = { source: string; target: string }[];

/** Every Linux has it, and nothing that a program needs is in it. */
const IN_SYSTEM = "/usr/local/share";

async function openFolder(parent: string, name: string): Promise<string> {
  await mkdir(join(parent, name));
  await chmod(join(parent, name), 0o755);
  return join(parent, name);
}

function answers(stdout: string): unknown[] {
  return stdout
    .trim()
    .split("\n")
    .map((line): unknown => JSON.parse(line));
}

/** Runs a program of this repository as another user, who sees the repository wherever it really is. */
async function runUnprivileged(folder: string, command: (view: string) => string[], mounts: Mounts = []) {
  const found = findLauncher();
  if ("missing" in found) throw new Error(`${found.missing}: ${found.fix}`);
  const [view, inside] = [join(folder, "view"), join(folder, "launcher")];
  await mkdir(view, { recursive: true });
  await copyFile(found.path, inside);
  await chmod(inside, 0o755);
  const run = supervise({
    launcher: found.path,
    user: DEFAULT_USER,
    binds: [{ source: REPOSITORY, target: view }, ...mounts],
    backend: initArgv({
      launcher: inside,
      command: command(view),
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

function nodeIn(view: string): string {
  const node = join(view, relative(REPOSITORY, process.execPath));
  return process.execPath.startsWith(REPOSITORY) ? node : process.execPath;
}

function scriptCommand(script: string): (view: string) => string[] {
  return (view) => [nodeIn(view), join(HERE, "fixtures/run-script.ts"), script, "bubblewrap", "oci"];
}

function suiteCommand(view: string): string[] {
  return [
    nodeIn(view),
    ...["node_modules/vitest/vitest.mjs", "run"],
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
