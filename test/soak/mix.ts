import { setTimeout as pause } from "node:timers/promises";
import type { Sandbox, SandboxEnd, SandboxOrder, WorkspaceView } from "@sallyport/engine/ports";
import { sumJob } from "../bench/sandbox-job.ts";
import { BOUNDS } from "../bench/sandbox-orders.ts";
import { seeded } from "../crash/seeded.ts";
import type { Ground } from "./ground.ts";

/** A kind of run, and how many of it are in one turn of the mix. */
interface Kind {
  times: number;
  run(ground: Ground): Promise<void>;
}

const ONE_SHOT_MS = 250;
const random = seeded(1);

/** Whatever a process may do to be missed when its sandbox ends. */
const CLINGING = `trap "" TERM HUP INT
setsid sleep 600 & (sleep 600 & exec sleep 600) & sleep 600 &
wait; sleep 600`;

/** Every way in which runs end, with everything that is made for them. Each run checks that it ended as it should. */
export const KINDS: Readonly<Record<string, Kind>> = {
  "does well": { times: 14, run: ({ sandbox }) => expectExit(sandbox, ["/bin/true"], 0) },
  fails: { times: 4, run: ({ sandbox }) => expectExit(sandbox, sh("echo no >&2; exit 3"), 3) },
  crashes: { times: 2, run: ({ sandbox }) => expectEnd(sandbox, sh("kill -SEGV $$"), "signalled") },
  "cannot start": { times: 1, run: ({ sandbox }) => expectEnd(sandbox, ["/no/such/program"], "exited") },
  "times out": { times: 4, run: ({ sandbox }) => timeOut(sandbox) },
  "is killed": { times: 4, run: ({ sandbox }) => killSoon(sandbox) },
  "floods its output": { times: 2, run: ({ sandbox }) => flood(sandbox) },
  "leaves processes behind": {
    times: 2,
    run: ({ sandbox }) => expectExit(sandbox, sh("setsid sleep 600 & exit 0"), 0),
  },
  "changes files, kept": { times: 4, run: (ground) => changeFiles(ground, "keep") },
  "changes files, rolled back": { times: 3, run: (ground) => changeFiles(ground, "rollback") },
  "reaches a host": { times: 3, run: reachHost },
  "by an OCI runtime": { times: 2, run: async ({ oci }) => oci && expectExit(oci, ["/bin/true"], 0) },
  "by an OCI runtime, killed": { times: 1, run: async ({ oci }) => oci && killSoon(oci) },
  "as a plain process": {
    times: 1,
    run: ({ process }) => expectExit(process, ["/bin/true"], 0, { level: "LEVEL_1" }),
  },
  "as a plain process, timed out": { times: 1, run: ({ process }) => timeOut(process, "LEVEL_1") },
  "a script tool": { times: 1, run: ({ cold }) => callScript(cold) },
  "a script tool, from the pool": { times: 1, run: ({ warm }) => callScript(warm) },
};

/** One turn, with the kinds spread over it; the same every time. */
export const TURN: readonly string[] = Object.entries(KINDS)
  .flatMap(([name, { times }]) =>
    Array.from({ length: times }, (_, index) => ({ name, at: (index + 0.5) / times })),
  )
  .toSorted((a, b) => a.at - b.at)
  .map(({ name }) => name);

const sh = (script: string) => ["/bin/sh", "-c", script];

type Changes = Partial<SandboxOrder>;

async function endOf(sandbox: Sandbox, argv: readonly string[], changes: Changes): Promise<SandboxEnd> {
  const process = await sandbox.start({ ...BOUNDS, id: crypto.randomUUID(), argv, env: {}, ...changes });
  process.stdin.end();
  process.stdout.resume();
  process.stderr.resume();
  return process.ended;
}

async function expectExit(
  sandbox: Sandbox,
  argv: readonly string[],
  code: number,
  changes: Changes = {},
): Promise<void> {
  const { ending } = await endOf(sandbox, argv, changes);
  if (ending.kind !== "exited" || ending.code !== code) throw unexpected(argv, ending);
}

async function expectEnd(
  sandbox: Sandbox,
  argv: readonly string[],
  kind: SandboxEnd["ending"]["kind"],
  changes: Changes = {},
): Promise<void> {
  const { ending } = await endOf(sandbox, argv, changes);
  if (ending.kind !== kind) throw unexpected(argv, ending);
}

function unexpected(argv: readonly string[], ending: SandboxEnd["ending"]): Error {
  return new Error(`${argv.join(" ")} ended with ${JSON.stringify(ending)}`);
}

function timeOut(sandbox: Sandbox, level: SandboxOrder["level"] = "LEVEL_2"): Promise<void> {
  const limits = { ...BOUNDS.limits, wallMs: ONE_SHOT_MS };
  return expectEnd(sandbox, sh(CLINGING), "timeout", { limits, level });
}

function flood(sandbox: Sandbox): Promise<void> {
  const limits = { ...BOUNDS.limits, outputBytes: 10_000 };
  return expectEnd(sandbox, ["/usr/bin/yes"], "limit", { limits });
}

/** At any moment of its life. */
async function killSoon(sandbox: Sandbox): Promise<void> {
  const argv = sh(CLINGING);
  const process = await sandbox.start({ ...BOUNDS, id: crypto.randomUUID(), argv, env: {} });
  process.stdout.resume();
  process.stderr.resume();
  await pause(random() * 60);
  process.kill();
  const { ending } = await process.ended;
  if (ending.kind !== "killed") throw unexpected(argv, ending);
}

async function changeFiles({ sandbox, workspaces, root }: Ground, how: "keep" | "rollback"): Promise<void> {
  const rules = { root, writable: true, denied: [] };
  const staging = workspaces.begin({ callId: crypto.randomUUID(), rules, maxBytes: 1_000_000 });
  const name = crypto.randomUUID();
  const script = `echo two > ${name}; mkdir ${name}.d; echo three > ${name}.d/x; rm -r ${name} ${name}.d/x`;
  const workspace: WorkspaceView = await staging.view();
  await expectExit(
    sandbox,
    sh(how === "keep" ? `${script}; rmdir ${name}.d; echo ${name} > one` : script),
    0,
    {
      workspace,
      cwd: root,
    },
  );
  if (how === "rollback") return void (await staging.rollback());
  const committed = await staging.apply();
  // Two calls that run beside each other may have changed the same file: then one of them is rolled back.
  await (committed.ok ? staging.keep() : staging.rollback());
}

async function reachHost({ sandbox, port }: Ground): Promise<void> {
  const egress = [{ host: "localhost", port, allowPrivate: true }];
  await expectExit(sandbox, ["curl", "-sfo", "/dev/null", `http://localhost:${port}/`], 0, { egress });
}

async function callScript(runner: Ground["cold"]): Promise<void> {
  const result = await runner.run(sumJob());
  if (!result.ok) throw new Error(`the script tool failed: ${JSON.stringify(result.fault)}`);
}
