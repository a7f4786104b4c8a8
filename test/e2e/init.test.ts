import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Shell } from "./shell.ts";

let shell: Shell;
let empty: string;
beforeEach(() => {
  shell = new Shell("");
  // A folder of its own: the shell's has a configuration already.
  empty = mkdtempSync(join(tmpdir(), "sallyport-init-"));
});
afterEach(() => {
  shell[Symbol.dispose]();
  rmSync(empty, { recursive: true });
});

interface Step {
  path: string;
  done: string;
}

async function init(...args: string[]): Promise<Record<string, string>> {
  const { steps } = await shell.json<{ steps: Step[] }>(["init", empty, ...args]);
  return Object.fromEntries(steps.map(({ path, done }) => [path, done]));
}

const at = (name: string) => join(empty, name);
const within = (...args: string[]) => [...args, "--config", at("sallyport.yaml")];

describe("sallyport init", () => {
  it("makes a folder whose tool can be called at once", async () => {
    const { code, stdout } = await shell.run(["init", empty]);
    expect(code).toBe(0);
    expect(stdout).toContain("sallyport serve");
    const { stdout: answer } = await shell.run(within("call", "greet", '{"name":"Ada"}'));
    expect(JSON.parse(answer)).toEqual({ greeting: "Hello, Ada!" });
    expect(await shell.json(within("config", "check"))).toMatchObject({ valid: true });
    const linted = await shell.json<object[]>(within("tools", "lint", "greet"));
    expect(linted).toMatchObject([{ findings: [] }, { findings: [] }]);
  });

  it("makes keys for their owner alone, and prints none", async () => {
    const { stdout, stderr } = await shell.run(["init", empty]);
    const keys = at(".sallyport/keys");
    expect(statSync(keys).mode & 0o777).toBe(0o700);
    for (const name of readdirSync(keys)) expect(statSync(join(keys, name)).mode & 0o777, name).toBe(0o600);
    const key = readFileSync(join(keys, "operator.key"), "utf8").trim();
    expect(key).toMatch(/^spo_/);
    expect(stdout + stderr).not.toContain(key);
    expect(stdout).toContain("operator.key");
    const minted = await shell.json(
      within("token", "mint", "--agent", "a", "--tenant", "local", "--tool", "greet"),
    );
    expect(minted).toMatchObject({ token: expect.any(String) });
  });

  it("overwrites nothing, and says what is there", async () => {
    const first = await init();
    expect(new Set(Object.values(first))).toEqual(new Set(["made"]));
    const before = readFileSync(at(".sallyport/keys/operator.key"));
    writeFileSync(at("sallyport.yaml"), "events: false\n");
    writeFileSync(at("tools/greet.mts"), "mine");
    expect(await init()).toEqual({
      "sallyport.yaml": "kept",
      ".sallyport/keys": "kept",
      ".sallyport/keys/operator.key": "kept",
    });
    expect(readFileSync(at("sallyport.yaml"), "utf8")).toBe("events: false\n");
    expect(await init("--force")).toMatchObject({
      "sallyport.yaml": "replaced",
      "tools/greet.mts": "kept",
      ".sallyport/keys/operator.key": "kept",
    });
    expect(readFileSync(at("sallyport.yaml"), "utf8")).toContain("tools/greet.mts");
    expect(readFileSync(at("tools/greet.mts"), "utf8")).toBe("mine");
    expect(readFileSync(at(".sallyport/keys/operator.key"))).toEqual(before);
  });

  it("links the package for tools only where none is installed", async () => {
    expect(await init()).toHaveProperty(["node_modules/@sallyport/engine"], "made");
    expect(lstatSync(at("node_modules/@sallyport/engine")).isSymbolicLink()).toBe(true);
    const inside = join(empty, "below");
    mkdirSync(inside);
    const { steps } = await shell.json<{ steps: Step[] }>(["init", inside]);
    expect(steps.map(({ path }) => path)).not.toContain("node_modules/@sallyport/engine");
  });

  it("survives a copy without node_modules: the missing package says what to do, and init mends it [X-17]", async () => {
    await init();
    const described = JSON.parse(readFileSync(at("package.json"), "utf8"));
    // Nothing that npm would ask a registry for.
    expect(described).toMatchObject({ engines: { node: ">=24" }, peerDependencies: {} });
    expect(described).not.toHaveProperty("dependencies");
    for (const name of ["node_modules", ".sallyport"]) rmSync(at(name), { recursive: true });
    const broken = await shell.runAlone(within("call", "greet", '{"name":"Ada"}'));
    expect(broken.stderr).toMatch(/E3920.*@sallyport\/engine[\s\S]*Run `\S*sallyport init` in the folder/);
    // A link to another machine's installation is as bad as none.
    mkdirSync(at("node_modules/@sallyport"), { recursive: true });
    symlinkSync("/nowhere", at("node_modules/@sallyport/engine"));
    expect(await init()).toMatchObject({
      "sallyport.yaml": "kept",
      "node_modules/@sallyport/engine": "made",
    });
    const { stdout } = await shell.runAlone(within("call", "greet", '{"name":"Ada"}'));
    expect(JSON.parse(stdout)).toEqual({ greeting: "Hello, Ada!" });
  });

  it("shows the defaults in comments: without the marks the file means the same", async () => {
    await init();
    const text = readFileSync(at("sallyport.yaml"), "utf8");
    const uncommented = text.replaceAll(/^# (?=(?:http|limits|approvals|log|loop):| {2}\w+: )/gm, "");
    writeFileSync(at("sallyport.yaml"), uncommented.replace("  files: [rules.yaml]\n", ""));
    const { changed } = await shell.json<{ changed: { key: string }[] }>(within("config", "check"));
    expect(changed.map(({ key }) => key)).toEqual(["tools", "grants"]);
    expect(uncommented).toMatch(/^http:\n {2}host: 127\.0\.0\.1/m);
  });

  it("refuses a place where nothing can be made", async () => {
    writeFileSync(at("file"), "");
    const { code, stderr } = await shell.run(["init", at("file/below")]);
    expect([code, stderr]).toEqual([2, expect.stringContaining("cannot be made ready")]);
  });
});
