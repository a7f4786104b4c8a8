import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { conformanceCommand } from "./conformance.ts";

const ENGINE = new URL("../../../../engine/src/index.ts", import.meta.url).href;

let cwd = "";
beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), "sallyport-conformance-"));
});
afterEach(() => rmSync(cwd, { recursive: true }));

async function run(...args: string[]) {
  const stdout = new PassThrough();
  const stderr = new PassThrough();
  let code = -1;
  const command = conformanceCommand({ stdin: new PassThrough(), stdout, stderr, cwd }, (result) => {
    code = result;
  });
  await command.parseAsync(args, { from: "user" });
  stdout.end();
  return { code, out: await text(stdout) };
}

/** A tool without an output schema, which is one box short. */
function writeTool(): void {
  const tool = `import { defineTool } from ${JSON.stringify(ENGINE)};
    const input = { $schema: "https://json-schema.org/draft/2020-12/schema", type: "object", properties: {}, required: [], additionalProperties: false };
    export const tool = defineTool({ id: "vague", version: "1.0.0", description: "Promises nothing", input, run: () => 1 });`;
  writeFileSync(join(cwd, "vague.mjs"), tool);
  writeFileSync(join(cwd, "sallyport.yaml"), "tools: [vague.mjs]\n");
}

describe("sallyport conformance", () => {
  it("prints each box by section, writes nothing and exits 0 [R1-9]", async () => {
    const { code, out } = await run();
    expect(out).toMatch(/^\[x\] 9\.2\.1 .+ — .+$/m);
    // Ticked where this host can isolate; otherwise open, saying what is missing.
    expect(out).toMatch(/^\[x\] 9\.3\.5 .+ LEVEL_2$|^\[ \] 9\.3\.5 .+ — .*E3101/m);
    expect(out).toMatch(/no tools to check/);
    expect(out).toMatch(/^1[23] of 13 boxes/m);
    expect(code).toBe(out.includes("13 of 13 boxes") ? 0 : 1);
    expect(readdirSync(cwd)).toEqual([]);
  }, 120_000);

  it("exits 1 when a box does not hold, and says the same as one document [R1-9]", async () => {
    writeTool();
    const { code, out } = await run("--json");
    const { boxes, passed, total } = JSON.parse(out);
    expect(total).toBe(23);
    expect(boxes).toHaveLength(total);
    expect(boxes.filter((box: { passed: boolean }) => box.passed)).toHaveLength(passed);
    expect(boxes).toContainEqual(
      expect.objectContaining({
        id: "9.1.3",
        subject: "vague@1.0.0",
        passed: false,
        evidence: "run declares none",
      }),
    );
    expect(code).toBe(1);
  }, 120_000);
});
