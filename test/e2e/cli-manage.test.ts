import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { describe, expect, it, vi } from "vitest";
import type { Finding } from "../../packages/server/src/doctor/diagnose.ts";
import { DomainFolder } from "../../packages/server/src/gateway/fixtures/domain-folder.ts";
import { Shell } from "./shell.ts";

const GREETER = fileURLToPath(new URL("./fixtures/greeter-1.ts", import.meta.url));
const GREETER_NEXT = fileURLToPath(new URL("./fixtures/greeter-1-1.ts", import.meta.url));
const GREETER_BREAKING = fileURLToPath(new URL("./fixtures/greeter-1-2-breaking.ts", import.meta.url));
const GRANT = "grants:\n  - id: greeting\n    tools: [greeter]\n";

describe("sallyport tools", () => {
  it("lists, shows and lints what the configuration names, without writing anything", async () => {
    using shell = new Shell();
    const listed = await shell.json<{ id: string; lifecycle: string }[]>(["tools", "list"]);
    expect([...listed].map(({ id, lifecycle }) => [id, lifecycle])).toContainEqual(["calculator", "active"]);
    expect(await shell.json(["tools", "show", "calculator@^1"])).toMatchObject({
      manifest: { id: "calculator", version: "1.0.0" },
    });
    expect((await shell.run(["tools", "lint", "calculator"])).code).toBe(0);
    expect(() => statSync(shell.path(".sallyport"))).toThrow();
    const missing = await shell.run(["tools", "show", "calculatr"]);
    expect([missing.code, missing.stderr.includes("calculator")]).toEqual([2, true]);
  });

  it("lints a manifest in any dialect and names what falls short [R1-6.3]", async () => {
    using shell = new Shell();
    const manifest = {
      tool_id: "x.y",
      tool_name: "X",
      version: "1.0.0",
      parameters_schema: { type: "object", properties: { a: {} } },
    };
    writeFileSync(shell.path("l3.json"), JSON.stringify(manifest));
    const { code, stdout } = await shell.run(["tools", "lint", "l3.json"]);
    expect(stdout).toContain("/properties/a");
    expect(code).toBe(1);
    writeFileSync(shell.path("bad.json"), JSON.stringify({ ...manifest, version: "one", tool_name: 7 }));
    const bad = await shell.run(["tools", "lint", "bad.json"]);
    expect(bad.code).toBe(2);
    expect(bad.stderr).toContain("/version");
    expect(bad.stderr).toContain("/tool_name");
  });

  it("adds a module for good, takes a compatible release, refuses a breaking one [L3-REG-2]", async () => {
    using shell = new Shell(GRANT);
    expect((await shell.run(["tools", "add", GREETER])).stdout).toContain("Added greeter 1.0.0");
    expect((await shell.run(["call", "greeter", '{"name":"Ada"}'])).stdout).toContain("Hello, Ada");
    expect((await shell.run(["tools", "add", GREETER])).stderr).toContain("E3007");
    expect((await shell.run(["tools", "add", GREETER_NEXT])).code).toBe(0);
    const breaking = await shell.run(["tools", "add", GREETER_BREAKING]);
    expect(breaking.stderr).toContain("E3009");
    expect(breaking.code).not.toBe(0);
    expect(await shell.json(["call", "greeter", '{"name":"Ada"}'])).toMatchObject({ tool_version: "1.1.0" });
    expect(await shell.json(["call", "greeter", '{"name":"Ada"}', "--tool-version", "1.0.0"])).toMatchObject({
      tool_version: "1.0.0",
    });
  });

  it("warns callers of a deprecated version and keeps it until it may go [R1-10] [L3-REG-2]", async () => {
    using shell = new Shell(GRANT);
    await shell.run(["tools", "add", GREETER]);
    await shell.run(["tools", "add", GREETER_NEXT]);
    expect((await shell.run(["tools", "deprecate", "greeter@1.0.0"])).stderr).toContain("E3013");
    await shell.run(["tools", "deprecate", "greeter@1.0.0", "--replacement", "1.1.0"]);
    const warned = await shell.json(["call", "greeter", '{"name":"Ada"}', "--tool-version", "1.0.0"]);
    expect(warned).toMatchObject({
      status: "success",
      warnings: [{ code: "E3003", message: expect.stringContaining("1.1.0") }],
    });
    expect((await shell.run(["tools", "remove", "greeter@1.0.0"])).stderr).toContain("E3013");
    expect((await shell.run(["tools", "remove", "greeter@1.0.0", "--force"])).code).toBe(0);
    const gone = await shell.json(["call", "greeter", '{"name":"Ada"}', "--tool-version", "1.0.0"]);
    expect(gone).toMatchObject({ error: { details: { code: "E3004" } } });
  });
});

describe("sallyport audit", () => {
  async function used(): Promise<Shell> {
    const shell = new Shell();
    await shell.run(["call", "calculator", "--operation", "add", '{"a":1,"b":2}']);
    await shell.run(["call", "calculator", "--operation", "add", '{"a":1}']);
    return shell;
  }

  it("verifies the store, an export of it offline, and a receipt [R1-8.1]", async () => {
    using shell = await used();
    const answer = await shell.json(["call", "calculator", "--operation", "add", '{"a":3,"b":4}']);
    expect(await shell.json(["audit", "verify"])).toMatchObject({ intact: true, exitCode: 0 });
    const { stdout } = await shell.run(["audit", "export"]);
    writeFileSync(shell.path("events.jsonl"), stdout);
    expect(await shell.json(["audit", "verify", "--file", "events.jsonl"])).toMatchObject({ intact: true });
    const receipt = JSON.stringify(answer.receipt);
    expect((await shell.run(["audit", "verify", "--receipt", receipt])).code).toBe(0);
    const forged = receipt.replace(/"hash":"./, '"hash":"z');
    expect((await shell.run(["audit", "verify", "--receipt", forged])).code).toBe(1);
    writeFileSync(shell.path("events.jsonl"), stdout.replace('"operation":"add"', '"operation":"sub"'));
    const touched = await shell.run(["audit", "verify", "--file", "events.jsonl"]);
    expect([touched.code, touched.stdout.includes("NOT intact")]).toEqual([1, true]);
  });

  it("does not call a chain intact that is not there", async () => {
    using shell = await used();
    expect((await shell.run(["audit", "verify", "--tenant", "typo"])).code).toBe(2);
    expect((await shell.run(["audit", "verify", "--file", "nope.jsonl"])).code).toBe(2);
  });

  it("finds what somebody changed or removed in the database itself [R1-8.1]", async () => {
    using shell = await used();
    const database = new DatabaseSync(shell.path(".sallyport/sallyport.db"));
    database.exec('UPDATE audit SET lines = replace(lines, \'"state":"FAILED"\', \'"state":"COMPLETED"\')');
    database.close();
    expect((await shell.run(["audit", "verify"])).stdout).toMatch(
      /NOT intact\n {4}#2 changed.*\n {6}2\.1 DECLARED/,
    );
    using other = await used();
    const second = new DatabaseSync(other.path(".sallyport/sallyport.db"));
    second.exec("DELETE FROM audit WHERE rowid = (SELECT max(rowid) FROM audit)");
    second.close();
    expect((await other.run(["audit", "verify"])).stdout).toContain("truncated");
  });
});

describe("sallyport", () => {
  it("tells a newcomer what a call goes through", async () => {
    using shell = new Shell();
    const { code, stderr, stdout } = await shell.run(["demo"]);
    for (const state of [
      "DECLARED",
      "VALIDATED",
      "AUTHORIZED",
      "EXECUTING",
      "COMPLETED",
      "FAILED",
      "ROLLED_BACK",
    ]) {
      expect(stderr).toContain(state);
    }
    expect(stderr).toMatch(/receipt {5}local#1 [0-9a-f]{64}/);
    expect([code, stdout.includes("Where to go next")]).toEqual([0, true]);
  });

  it("has help that teaches, for every command", async () => {
    using shell = new Shell();
    for (const args of [
      [],
      ["call"],
      ["tools"],
      ["calls"],
      ["calls", "recover"],
      ["audit", "verify"],
      ["conformance"],
      ["doctor"],
    ]) {
      const { code, stdout } = await shell.run([...args, "--help"]);
      expect([args, code]).toEqual([args, 0]);
      expect(stdout).toContain("Usage: sallyport");
    }
    expect((await shell.run(["--version"])).stdout.trim()).toMatch(/^\d+\.\d+\.\d+$/);
  });

  it("says what is wrong with a configuration, where, and what was probably meant", async () => {
    using shell = new Shell("tools: []\ngrant:\n  - id: x\nlimits:\n  threads: none\n");
    const { code, stderr } = await shell.run(["doctor"]);
    expect(code).toBe(2);
    expect(stderr).toMatch(/sallyport\.yaml:2:1 unknown key "grant" — did you mean "grants"\?/);
    expect(stderr).toMatch(/sallyport\.yaml:5:3 limits\.threads/);
    writeFileSync(shell.path("sallyport.yaml"), "tools: [\n");
    expect((await shell.run(["doctor"])).stderr).toMatch(/sallyport\.yaml:\d/);
    expect((await shell.run(["doctor", "--config", "nowhere.yaml"])).stderr).toContain("nowhere.yaml");
  });

  it("goes on with the other tools when one cannot be had, and names it", async () => {
    using shell = new Shell(`tools: [./nope.ts, ${GREETER}]\n${GRANT}`);
    const { code, stdout, stderr } = await shell.run(["call", "greeter", '{"name":"Ada"}']);
    expect([code, stdout.includes("Hello, Ada"), stderr.includes("nope.ts")]).toEqual([0, true, true]);
    expect(await shell.json(["doctor"])).toMatchObject({ healthy: false });
  });

  it("notes that workers of a domain cannot tell their gateway from others, until both have a secret", async () => {
    const domain = new DomainFolder();
    using shell = new Shell(`domain: ${domain.path}\n${GRANT}`);
    const workers = async () => {
      const { findings } = await shell.json<{ findings: Finding[] }>(["doctor"]);
      return findings.find(({ what }) => what === "workers");
    };
    expect(await workers()).toMatchObject({
      verdict: "note",
      detail: expect.stringContaining("WORKER_SECRET"),
    });
    vi.stubEnv("WORKER_SECRET", "known-to-gateway-and-worker");
    expect(await workers()).toMatchObject({ verdict: "good" });
    vi.stubEnv("WORKER_SECRET", "short-one");
    const wrong = await workers();
    expect(wrong).toMatchObject({ verdict: "problem", detail: expect.stringContaining("E3301") });
    expect(JSON.stringify(wrong)).not.toContain("short-one");
    vi.unstubAllEnvs();
    domain.remove();
  });

  it("says which module cannot be loaded", async () => {
    using shell = new Shell("tools: [./nope.ts]\n");
    const { code, stderr } = await shell.run(["call", "x", "{}"]);
    expect([code, stderr.includes("E3920"), stderr.includes("nope.ts")]).toEqual([2, true, true]);
  });

  it("refuses a state folder it cannot use, and says why", async () => {
    using shell = new Shell();
    writeFileSync(shell.path("file"), "not a folder");
    const ran = await shell.run([
      "call",
      "calculator",
      "--operation",
      "add",
      '{"a":1,"b":2}',
      "--state-dir",
      "file",
    ]);
    expect([ran.code, ran.stderr.includes("E3914")]).toEqual([70, true]);
    mkdirSync(shell.path("broken"));
    writeFileSync(
      shell.path("broken/sallyport.db"),
      "this is no database, only text that is long enough to be read",
    );
    const corrupt = await shell.run([
      "call",
      "calculator",
      "--operation",
      "add",
      '{"a":1,"b":2}',
      "--state-dir",
      "broken",
    ]);
    expect([corrupt.code, corrupt.stderr.includes("E3914")]).toEqual([70, true]);
    expect(readFileSync(shell.path("broken/sallyport.db"), "utf8")).toContain("this is no database");
  });

  it("keeps its state private, and no secret of an input in it [L3P2-3]", async () => {
    using shell = new Shell();
    await shell.run([
      "call",
      "actor",
      "--operation",
      "echo",
      '{"password":"hunter2-very-secret"}',
      "--call-id",
      "c",
    ]);
    expect(statSync(shell.path(".sallyport")).mode & 0o777).toBe(0o700);
    for (const file of ["sallyport.db", "events.jsonl"])
      expect(statSync(shell.path(`.sallyport/${file}`)).mode & 0o777).toBe(0o600);
    expect(await shell.json(["calls", "show", "c"])).toMatchObject({ input: { password: "[REDACTED]" } });
    expect(readFileSync(shell.path(".sallyport/events.jsonl"), "utf8")).not.toContain("hunter2");
  });

  it("runs every check of the compliance list and says what is not ticked [R1-9]", async () => {
    using shell = new Shell();
    const report = await shell.json<{ boxes: { id: string; passed: boolean }[] }>(["conformance"]);
    expect(report.exitCode).toBe(0);
    expect(report.boxes.filter(({ passed }) => !passed).map(({ id }) => id)).toEqual([]);
    expect(report.boxes.length).toBeGreaterThanOrEqual(23);
  });

  it("looks the host over", async () => {
    using shell = new Shell();
    writeFileSync(
      shell.path("sallyport.yaml"),
      `${readFileSync(shell.path("sallyport.yaml"), "utf8")}\nblobs: { folder: blobs }\n`,
    );
    const report = await shell.json<{ healthy: boolean; findings: { what: string; verdict: string }[] }>([
      "doctor",
    ]);
    expect(report.healthy).toBe(true);
    expect(report.findings.map(({ what }) => what)).toEqual([
      "runtime",
      "configuration",
      "state folder",
      "store",
      "blobs",
      "events",
      "tokens",
      "policy",
      "tools",
      "threads",
      "functions",
      "sandbox bubblewrap",
      "sandbox process",
    ]);
  });
});
