import { mkdirSync } from "node:fs";
import {
  createEngine,
  createProcessRunner,
  type DefinedTool,
  defineCommand,
  type Engine,
  grantAuthority,
} from "@sallyport/engine";
import type { Sandbox, Workspaces } from "@sallyport/engine/ports";
import { isFailure, SallyportError } from "@sallyport/protocol";
import { inMemory } from "./guarded.ts";
import { runInside } from "./sandbox-orders.ts";
import { type Racer, type RaceSize, race } from "./sandbox-race.ts";
import { type RaceReport, report } from "./sandbox-report.ts";

const BARE = "sandbox alone";
const NOTHING = { type: "object", properties: {}, additionalProperties: false };
const about = { version: "1.0.0", input: NOTHING };
const nowhere = { filesystem: [], network: [], credentials: [] };

const plain = defineCommand({
  ...about,
  id: "bench.true",
  description: "Does nothing.",
  permissions: nowhere,
  command: ["/bin/true"],
});

const writer = defineCommand({
  ...about,
  id: "bench.write",
  description: "Changes one file.",
  permissions: { ...nowhere, filesystem: [{ path: ".", mode: "rw" }] },
  command: ["/bin/sh", "-c", "cat /proc/sys/kernel/random/uuid > changed"],
});

/** The whole passage of a command tool, for orientation: what guarding adds to the sandbox itself. */
export async function raceGuarded(
  parts: { sandbox: Sandbox; workspaces: Workspaces; folder: string },
  size: RaceSize,
): Promise<RaceReport> {
  mkdirSync(parts.folder, { mode: 0o755 });
  const engine = await openEngine(parts);
  const racers: Racer[] = [
    { name: BARE, run: () => runInside(parts.sandbox, ["/bin/true"]) },
    { name: "guarded command", run: () => callOnce(engine, plain) },
    {
      name: "guarded command, one file committed",
      run: () => callOnce(engine, writer),
      settle: () => parts.workspaces.expire(),
    },
  ];
  const timings = await race(racers, size);
  await engine.close();
  const aims = racers
    .slice(1)
    .map(({ name }) => ({ what: name, of: name, against: BARE, as: "ratio" as const }));
  return report("A command tool through the whole passage, store in memory", timings, { aims });
}

async function openEngine({
  sandbox,
  workspaces,
  folder,
}: {
  sandbox: Sandbox;
  workspaces: Workspaces;
  folder: string;
}): Promise<Engine> {
  const engine = await createEngine({
    store: inMemory(),
    authority: grantAuthority([
      {
        id: "bench",
        tenants: ["bench"],
        agents: ["bench"],
        tools: ["bench.*"],
        operations: ["*"],
        capabilities: ["filesystem.read", "filesystem.write"],
      },
    ]),
    admission: { total: 10, perAgent: 10, perTool: 10 },
    runners: [createProcessRunner({ sandbox })],
    isolation: {
      sandbox,
      workspaces,
      root: folder,
      hidden: [],
      denied: [],
      weaker: [],
      credentials: {},
      privateHosts: [],
      maxCopyBytes: 1_000_000,
    },
  });
  for (const tool of [plain, writer]) await register(engine, tool);
  return engine;
}

async function register(engine: Engine, { manifest, programs }: DefinedTool): Promise<void> {
  const implementation = { kind: "process" as const, programs };
  const registered = await engine.tools.register(manifest, { implementation });
  if (isFailure(registered)) throw new SallyportError(registered);
}

async function callOnce(engine: Engine, { manifest }: DefinedTool): Promise<void> {
  const caller = { tenant: "bench", agent: "bench" };
  const answer = await engine.call({ tool: manifest.id, input: {}, caller });
  if (answer.status !== "success") throw new SallyportError(answer.error);
}
