import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable, Writable } from "node:stream";
import { openSqliteStore } from "@sallyport/adapters/sqlite";
import { EVENT_TYPES } from "@sallyport/engine/publish";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { loadConfig } from "../../config/load.ts";
import { openDesk } from "../../desk/index.ts";
import { openRuntime } from "../../runtime/runtime.ts";
import { main } from "../main.ts";

let cwd: string;

beforeEach(async () => {
  cwd = mkdtempSync(join(tmpdir(), "sallyport-events-"));
  writeFileSync(
    join(cwd, "sallyport.yaml"),
    "events: { sinks: [{ name: now, jsonl: { file: now.jsonl } }] }\n",
  );
  const store = await openSqliteStore({ folder: join(cwd, ".sallyport") });
  for (const tenant of ["a", "b", "c"])
    await store.commit({ tenant, outbox: { sinks: ["former"], events: ["{}"] } });
  await store.close();
});
afterEach(() => rmSync(cwd, { recursive: true }));

async function run(...argv: string[]) {
  const told: Record<"stdout" | "stderr", string> = { stdout: "", stderr: "" };
  const into = (name: keyof typeof told) =>
    new Writable({
      write(chunk, _, done) {
        told[name] += String(chunk);
        done();
      },
    });
  const io = { stdin: Readable.from([]), stdout: into("stdout"), stderr: into("stderr"), cwd };
  return { code: await main(argv, io), ...told };
}

const backlog = async () => JSON.parse((await run("events", "backlog", "--json")).stdout);

describe("sallyport events", () => {
  it("lists what waits for each sink, configured or not", async () => {
    expect(await backlog()).toEqual([
      {
        ...{ sink: "former", batches: 3, estimated: false, configured: false },
        oldestAt: expect.stringMatching(/Z$/),
      },
      { sink: "now", batches: 0, estimated: false, oldestAt: null, configured: true },
    ]);
    const { stdout } = await run("events", "backlog");
    expect(stdout).toMatch(/former +3 .*not configured/);
    expect((await run("doctor")).stdout).toMatch(/former: 3 batches wait[\s\S]*events drop former/);
  });

  it("drops what waits for a sink that is configured no more, and nothing else", async () => {
    expect(await run("events", "drop", "now")).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/still published/),
    });
    expect(await run("events", "drop", "nobody")).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/No events/),
    });
    expect(JSON.parse((await run("events", "drop", "former", "--json")).stdout)).toEqual({
      sink: "former",
      batches: 3,
    });
    expect((await backlog()).map(({ sink }: { sink: string }) => sink)).toEqual(["now"]);
  });

  it("reaches the server that has the folder", async () => {
    const runtime = await openRuntime({ config: loadConfig({ cwd }) });
    const desk = await openDesk(runtime.engine, runtime.config.stateFolder);
    try {
      expect((await run("events", "drop", "former")).stdout).toBe(
        "Dropped 3 batch(es) of events for former.\n",
      );
    } finally {
      await desk?.close();
      await runtime.close();
    }
  });

  it("prints the schema of every type of event", async () => {
    const { stdout } = await run("events", "schema");
    expect(Object.keys(JSON.parse(stdout).$defs)).toEqual(EVENT_TYPES);
  });
});
