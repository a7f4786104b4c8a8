import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { SallyportError } from "@sallyport/protocol";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { toolsCommand } from "./tools.ts";

const ENGINE = new URL("../../../../engine/src/index.ts", import.meta.url).href;
const CALCULATOR = `import { defineTool } from ${JSON.stringify(ENGINE)};
  const input = { $schema: "https://json-schema.org/draft/2020-12/schema", type: "object", additionalProperties: false };
  export const tool = defineTool({ id: "calculator", version: "1.0.0", description: "Adds", input, run: () => 1 });`;

let cwd = "";
beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), "sallyport-quarantine-"));
  writeFileSync(join(cwd, "calculator.mjs"), CALCULATOR);
  writeFileSync(join(cwd, "sallyport.yaml"), "tools: [calculator.mjs]\n");
});
afterEach(() => rmSync(cwd, { recursive: true }));

async function run(...args: string[]) {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const io = { stdin: new PassThrough(), stdout, stderr, cwd };
  await toolsCommand(io, () => undefined)
    .exitOverride()
    .parseAsync(args, { from: "user" });
  stdout.end();
  stderr.end();
  return { out: await text(stdout), err: await text(stderr) };
}

async function code(...args: string[]): Promise<string> {
  const thrown = await run(...args).catch((error: unknown) => error);
  return thrown instanceof SallyportError ? thrown.failure.code : `not refused: ${String(thrown)}`;
}

describe("sallyport tools quarantine and release", () => {
  it("keep a tool apart, show it, and let it out again [R3-4]", async () => {
    const shut = await run("quarantine", "calculator", "--reason", "adds \u001b[2Jwrongly");
    expect(shut.out).toBe("In quarantine: calculator 1.0.0\n");
    expect((await run("list")).out).toMatch(/^calculator +1\.0\.0 +active, in quarantine/m);
    const shown = await run("show", "calculator");
    expect(shown.err).toMatch(/In quarantine since .+ by .+: adds \\u001b\[2Jwrongly/);
    expect(JSON.parse(shown.out)).toMatchObject({ id: "calculator" });
    expect(JSON.parse((await run("list", "--json")).out)).toContainEqual(
      expect.objectContaining({
        id: "calculator",
        quarantine: expect.objectContaining({ at: expect.any(Number) }),
      }),
    );
    const open = await run("release", "calculator", "--tool-version", "1.0.0", "--note", "a false alarm");
    expect(open.out).toBe("Can be called again: calculator 1.0.0\n");
    expect((await run("list")).out).not.toContain("quarantine");
    expect((await run("show", "calculator@1.0.0")).err).toBe("");
  }, 120_000);

  it("are refused for what is not there (E3001, E3002)", async () => {
    expect(await code("quarantine", "nothing", "--reason", "x")).toBe("E3001");
    expect(await code("quarantine", "calculator@9.9.9", "--reason", "x")).toBe("E3002");
    expect(await code("release", "calculator", "--tool-version", "9.9.9", "--note", "x")).toBe("E3002");
    expect(await code("show", "nothing")).toBe("E3001");
  }, 120_000);
});
