import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { PassThrough } from "node:stream";
import { fileURLToPath } from "node:url";
import { MemoryMeter } from "@sallyport/engine";
import { isFailure } from "@sallyport/protocol";
import { afterEach, describe, expect, it } from "vitest";
import { Output } from "../cli/io.ts";
import { loadConfig } from "../config/load.ts";
import { toolModule } from "../reload/fixtures/reload-room.ts";
import { startReport } from "../serve/start-report.ts";
import { startText } from "../serve/start-text.ts";
import { openRuntime } from "./runtime.ts";

const REFUNDS = fileURLToPath(new URL("../../../../examples/refunds", import.meta.url));
const folders: string[] = [];

function example(): string {
  const folder = mkdtempSync(join(tmpdir(), "sallyport-runtime-"));
  folders.push(folder);
  cpSync(`${REFUNDS}/policy.yaml`, join(folder, "policy.yaml"));
  writeFileSync(
    join(folder, "sallyport.yaml"),
    readFileSync(`${REFUNDS}/sallyport.yaml`, "utf8").replace("- refunds.ts", `- ${REFUNDS}/refunds.ts`),
  );
  return folder;
}

afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

describe("an open server", () => {
  it("takes new rules without a restart, and keeps the old ones when the new are wrong", async () => {
    const folder = example();
    const told: string[] = [];
    let tell = () => {};
    const config = loadConfig({ cwd: folder });
    const runtime = await openRuntime({ config });
    const note = (outcome: object) => {
      told.push(isFailure(outcome) ? outcome.code : "reloaded");
      tell();
    };
    const stop = runtime.rules?.watch({ onReload: note, onProblem: note });
    const changed = async (edit: (text: string) => string) => {
      const next = new Promise<void>((resolve) => {
        tell = resolve;
      });
      const file = join(folder, "policy.yaml");
      writeFileSync(file, edit(readFileSync(file, "utf8")));
      await next;
    };
    const status = async () => {
      const caller = { tenant: "local", agent: "cli" };
      return (await runtime.engine.call({ tool: "refunds", input: { order: "A-1", amount: 80 }, caller }))
        .status;
    };
    try {
      expect(await status()).toBe("pending_approval");
      await changed((text) => text.replace("effect: ask", "effect: maybe"));
      expect(await status()).toBe("pending_approval");
      await changed((text) => text.replace("effect: maybe", "effect: allow"));
      expect(await status()).toBe("success");
      expect(told).toEqual(["E3223", "reloaded"]);
    } finally {
      stop?.();
      await runtime.close();
    }
  }, 120_000);

  it("closes what it has opened when a later step fails", async () => {
    const folder = example();
    const config = loadConfig({ cwd: folder });
    const watching = new Set<unknown>();
    const meter = Object.assign(new MemoryMeter(), {
      createObservableGauge: () => ({
        addCallback: (read: unknown) => void watching.add(read),
        removeCallback: (read: unknown) => void watching.delete(read),
      }),
    });
    const runtime = await openRuntime({ config, meter });
    expect(watching.size).toBeGreaterThan(0);
    await runtime.close();
    // Seen only after the engine was opened: by what looks through the records of applied calls.
    const record = join(config.stateFolder, "files", "undo", "loop");
    mkdirSync(dirname(record), { recursive: true });
    symlinkSync("loop", record);
    await expect(openRuntime({ config, meter })).rejects.toThrow("ELOOP");
    expect(watching.size).toBe(0);
    rmSync(record);
    await (await openRuntime({ config })).close();
  }, 120_000);

  it("says of a function in a thread what its rollback cannot see, and at its start where tools run", async () => {
    const folder = mkdtempSync(join(tmpdir(), "sallyport-runtime-"));
    folders.push(folder);
    const left = join(folder, "left.txt");
    const says = `{ writeFileSync(${JSON.stringify(left)}, "x"); throw new Error("no"); }`;
    const imports = 'import { writeFileSync } from "node:fs";';
    writeFileSync(join(folder, "tool.mjs"), toolModule({ says, imports }));
    writeFileSync(join(folder, "sallyport.yaml"), "tools: [tool.mjs]\ngrants: [{ id: g, tools: ['*'] }]\n");
    const runtime = await openRuntime({ config: loadConfig({ cwd: folder }) });
    try {
      const caller = { tenant: "t", agent: "a" };
      const answer = await runtime.engine.call({ tool: "teller", input: {}, caller });
      expect(readFileSync(left, "utf8")).toBe("x");
      const rollback = { verified: true, covers: ["state"], unseen: ["other_files", "network", "processes"] };
      expect(answer).toMatchObject({ status: "error", rollback });
      const report = await startReport(runtime, { url: "http://localhost" });
      expect(report.runners).toEqual({ thread: 1 });
      const io = {
        stdin: new PassThrough(),
        stdout: new PassThrough(),
        stderr: new PassThrough(),
        cwd: folder,
      };
      expect(startText(report, new Output(io, false))).toContain("1 in this process (LEVEL_0");
    } finally {
      await runtime.close();
    }
  });

  it("calls the newest version that is loaded, also after a tool was rolled back [L3-REG-2]", async () => {
    const folder = mkdtempSync(join(tmpdir(), "sallyport-runtime-"));
    folders.push(folder);
    writeFileSync(join(folder, "one.mts"), toolModule({ says: '"one"' }));
    writeFileSync(join(folder, "two.mts"), toolModule({ version: "1.1.0", says: '"two"' }));
    const answers = [];
    for (const module of ["one", "two", "one"]) {
      writeFileSync(
        join(folder, "sallyport.yaml"),
        `tools: [./${module}.mts]\ngrants: [{ id: all, tools: ['*'] }]\n`,
      );
      const runtime = await openRuntime({ config: loadConfig({ cwd: folder }) });
      answers.push(
        await runtime.engine.call({ tool: "teller", input: {}, caller: { tenant: "t", agent: "a" } }),
      );
      await runtime.close();
    }
    expect(answers).toMatchObject([{ result: "one" }, { result: "two" }, { result: "one" }]);
  }, 120_000);

  it.each([
    ["takes a tool whose schemas break quality rules", "", []],
    ["refuses it where the configuration demands quality", "schemas: { requireQuality: true }\n", ["E3012"]],
  ])("%s [R1-6.3]", async (_name, setting, codes) => {
    const folder = mkdtempSync(join(tmpdir(), "sallyport-runtime-"));
    folders.push(folder);
    writeFileSync(
      join(folder, "tool.mts"),
      toolModule().replace('type: "object" }', 'type: "object", properties: { a: {} } }'),
    );
    writeFileSync(join(folder, "sallyport.yaml"), `tools: [./tool.mts]\n${setting}`);
    const runtime = await openRuntime({ config: loadConfig({ cwd: folder }) });
    expect(runtime.problems.map(({ code }) => code)).toEqual(codes);
    await runtime.close();
  });
});
