import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { openSqliteStore } from "@sallyport/adapters/sqlite";
import { createEngine, defineTool, grantAuthority } from "@sallyport/engine";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { policyCommand } from "./policy.ts";

let cwd = "";
beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), "sallyport-policy-"));
});
afterEach(() => rmSync(cwd, { recursive: true }));

async function run(...args: string[]) {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  let code = -1;
  const command = policyCommand({ stdin: new PassThrough(), stdout, stderr, cwd }, (result) => {
    code = result;
  });
  await command.parseAsync(args, { from: "user" });
  stdout.end();
  stderr.end();
  return { code, out: await text(stdout), err: await text(stderr) };
}

const RULES = `version: 1
default: allow
rules:
  - id: no-prod
    effect: deny
    reason: Production is changed by a release.
    unlock: Release it.
    nearest: Use staging.
    match:
      tools: ["db.*"]
      arguments: { /env: { equals: prod } }
    examples:
      match: [{ tool: db.write, input: { env: prod } }]
      not: [{ tool: db.write, input: { env: dev } }, { tool: file.read }]
  - id: risky
    effect: ask
    reason: It is risky.
    match: { risk: { min: high } }
    examples:
      match: [{ risk: high }]
      not: [{ risk: low }]
`;

const write = (name: string, content: string) => writeFileSync(join(cwd, name), content);

describe("sallyport policy test", () => {
  it("tells each rule and how many examples it was tried on", async () => {
    write("rules.yaml", RULES);
    const { code, out } = await run("test", "rules.yaml");
    expect(code).toBe(0);
    expect(out).toMatch(/rules\.yaml · version [0-9a-f]{16} · operator · default allow/);
    expect(out).toContain("✓ deny  no-prod (1 match, 2 not)");
    expect(out).toContain("✓ ask   risky (1 match, 1 not)");
  });

  it("takes the files of the configuration when none is named", async () => {
    write("rules.yaml", RULES);
    write("sallyport.yaml", "policy: {files: [rules.yaml]}\n");
    const { code, out } = await run("test", "--json");
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject([
      { ok: true, default: "allow", rules: [{ id: "no-prod" }, { id: "risky" }] },
    ]);
  });

  it("exits 2 with file and line when one is wrong", async () => {
    write("rules.yaml", RULES);
    write("wrong.yaml", RULES.replace("match: [{ risk: high }]", "match: [{ risk: low }]"));
    const { code, out } = await run("test", "rules.yaml", "wrong.yaml");
    expect(code).toBe(2);
    expect(out).toContain("✓ deny  no-prod");
    expect(out).toMatch(
      /wrong\.yaml:20 .*rule "risky" does not match this example: \/match\/risk does not hold/,
    );
  });

  it("asks for a file when there is none", async () => {
    await expect(run("test")).rejects.toThrow(/E3921: There is no rules file/);
  });
});

describe("sallyport policy explain", () => {
  it("gives the decision, the rules, the deciding condition and what would unlock it", async () => {
    write("rules.yaml", RULES);
    const { out, err } = await run(
      "explain",
      "db.write",
      '{"env":"prod"}',
      "--file",
      "rules.yaml",
      "--agent",
      "a7",
    );
    expect(err).toContain("E3001");
    expect(out).toMatch(/^deny {2}db\.write 1\.0\.0 run for a7 of local$/m);
    expect(out).toContain("why: Production is changed by a release.");
    expect(out).toContain("argument: /env");
    expect(out).toContain("unlocked by: Release it.");
    expect(out).toContain("instead: Use staging.");
    expect(out).toContain('● deny  no-prod applies: /match/arguments/~1env holds (found "prod")');
    expect(out).toContain('○ ask   risky does not apply: /match/risk does not hold (found "low")');
    expect(out).toContain("default: allow, which is not needed here");
  });

  it("takes what the flags say of a tool nobody knows", async () => {
    write("rules.yaml", RULES);
    const { out } = await run("explain", "new.tool", "--risk", "critical", "--file", "rules.yaml", "--json");
    expect(JSON.parse(out)).toMatchObject({ known: false, verdict: { outcome: "ask", rules: ["risky"] } });
  });

  it("knows a tool's manifest, and the preset of the configuration", async () => {
    write("rules.yaml", RULES);
    write("tool.mjs", TOOL);
    write("sallyport.yaml", "tools: [tool.mjs]\npolicy: {files: [rules.yaml], preset: {mode: prompt}}\n");
    const { out, err } = await run("explain", "db.write", '{"env":"dev"}', "--json");
    expect(err).toBe("");
    expect(JSON.parse(out)).toMatchObject({
      known: true,
      call: { tool: "db.write", version: "2.0.0", tags: ["sql"], risk: "high", sideEffects: "external" },
      verdict: { outcome: "ask", rules: ["risky", "side-effects"] },
      preset: { outcome: "ask" },
    });
    expect(JSON.parse(out).call).not.toHaveProperty("input");
    const whatIf = await run("explain", "db.write@2", "--risk", "low", "--side-effects", "none", "--json");
    expect(JSON.parse(whatIf.out)).toMatchObject({
      call: { tags: ["sql"], risk: "low" },
      verdict: { outcome: "allow" },
    });
  });
});

const ENGINE = new URL("../../../../engine/src/index.ts", import.meta.url).href;
const INPUT = `{ $schema: "https://json-schema.org/draft/2020-12/schema" }`;
const TOOL = `import { defineTool } from ${JSON.stringify(ENGINE)};
export const tool = defineTool({ id: "db.write", version: "2.0.0", description: "Writes", tags: ["sql"], risk: "high",
  sideEffects: "external", input: ${INPUT}, output: ${INPUT}, run: () => 1 });`;

/** Leaves calls in a journal, as a process before would have. */
async function recordCalls(...inputs: object[]): Promise<void> {
  const schema = { $schema: "https://json-schema.org/draft/2020-12/schema" };
  const common = { id: "db.write", version: "2.0.0", description: "Writes", input: schema, output: schema };
  const tool = defineTool({ ...common, risk: "low", run: () => 1 });
  const store = await openSqliteStore({ folder: join(cwd, ".sallyport") });
  const every = { tenants: ["*"], agents: ["*"], tools: ["*"], operations: ["*"], capabilities: [] };
  const engine = await createEngine({ store, authority: grantAuthority([{ id: "all", ...every }]) });
  await engine.tools.add(tool);
  for (const input of inputs) {
    const answer = await engine.call({ tool: "db.write", input, caller: { tenant: "local", agent: "a7" } });
    expect(answer.status).toBe("success");
  }
  await engine.close();
  await store.close();
}

describe("sallyport policy backtest", () => {
  it("lists the recorded calls that would be decided otherwise, and writes nothing", async () => {
    await recordCalls({ env: "prod" }, { env: "dev" }, { env: "prod", password: "hunter2" });
    write("rules.yaml", RULES);
    const { code, out } = await run("backtest", "rules.yaml");
    expect(code).toBe(0);
    expect(out).toMatch(/^3 recorded call\(s\) against no policy.*: 2 decision\(s\) change\.$/m);
    expect(out).toContain("allow → deny: 2");
    expect(out).toContain("1 call(s) with secrets taken out of their input: marked *");
    expect(out.match(/db\.write run {2}a7 {5}allow {3}deny {3}no-prod/g)).toHaveLength(2);
  });

  it("compares with the rules in force, and fails on a change if told to", async () => {
    await recordCalls({ env: "prod" }, { env: "dev" });
    write("rules.yaml", RULES);
    write("stricter.yaml", "version: 1\ndefault: ask\nrules: []\n");
    write("sallyport.yaml", "policy: {files: [rules.yaml]}\n");
    const same = await run("backtest", "rules.yaml", "--fail-on-flip");
    expect([same.code, same.out]).toEqual([0, expect.stringContaining("0 decision(s) change")]);
    const other = await run("backtest", "stricter.yaml", "--fail-on-flip", "--json");
    expect(other.code).toBe(1);
    expect(JSON.parse(other.out)).toMatchObject({
      calls: 2,
      counts: { "deny → ask": 1, "allow → ask": 1 },
      flips: [{ before: "allow", after: "ask", redacted: false, strange: false }, { before: "deny" }],
    });
  });

  it("looks at as many and as recent calls as it is told", async () => {
    await recordCalls({ env: "prod" }, { env: "prod" }, { env: "prod" });
    write("rules.yaml", RULES);
    expect(JSON.parse((await run("backtest", "rules.yaml", "--limit", "2", "--json")).out).calls).toBe(2);
    expect(JSON.parse((await run("backtest", "rules.yaml", "--since", "1h", "--json")).out).calls).toBe(3);
    const past = await run("backtest", "rules.yaml", "--since", "2999-01-01T00:00:00Z", "--json");
    expect(JSON.parse(past.out).calls).toBe(0);
  });

  it("refuses a candidate that is wrong", async () => {
    write("rules.yaml", "version: 2\n");
    await expect(run("backtest", "rules.yaml")).rejects.toThrow(/E3223/);
  });
});
