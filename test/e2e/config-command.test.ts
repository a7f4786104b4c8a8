import { chmodSync, writeFileSync } from "node:fs";
import type { Issue } from "@sallyport/protocol";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { readModule } from "../../packages/server/src/reload/read-module.ts";
import { Shell } from "./shell.ts";

const DEFINE = `import { defineTool } from ${JSON.stringify(import.meta.resolve("@sallyport/engine/tool"))};`;

let shell: Shell;
beforeEach(() => {
  shell = new Shell("http:\n  port: 8080\n");
});
afterEach(() => shell[Symbol.dispose]());

describe("sallyport config check", () => {
  it("says which file is right, what differs, and where it comes from", async () => {
    const { code, stdout } = await shell.run(["config", "check"]);
    expect(code).toBe(0);
    expect(stdout).toContain(`✓ ${shell.path("sallyport.yaml")} is right.`);
    expect(stdout).toMatch(/http\.port +8080 +\S+sallyport\.yaml:2:3/);
    expect(stdout).not.toContain("http.host");
    const all = await shell.run(["config", "check", "--all"]);
    expect(all.stdout).toMatch(/http\.host +"127\.0\.0\.1" +default/);
    expect(await shell.json(["config", "check", "--all"])).toMatchObject({
      valid: true,
      file: shell.path("sallyport.yaml"),
      stateFolder: shell.path(".sallyport"),
      changed: [
        { key: "http.port", value: 8080, default: 7420, origin: { kind: "file", line: 2, column: 3 } },
      ],
      values: expect.arrayContaining([expect.objectContaining({ key: "events", value: true })]),
    });
  });

  it("names every wrong place, in text and as JSON, with an exit code", async () => {
    writeFileSync(shell.path("sallyport.yaml"), "htpp: {}\nlimits:\n  threads: '4'\n");
    const { code, stdout } = await shell.run(["config", "check"]);
    expect(code).toBe(2);
    expect(stdout).toContain('sallyport.yaml:1:1 unknown key "htpp" — did you mean "http"?');
    expect(stdout).toContain(
      'sallyport.yaml:3:3 limits.threads: expected a whole number from 1, found "4" — write 4',
    );
    expect(await shell.json(["config", "check"])).toMatchObject({
      valid: false,
      exitCode: 2,
      issues: [{ reason: expect.stringContaining("htpp") }, { suggestion: "write 4" }],
    });
  });

  it("finds what would stop the start although the file is right in itself", async () => {
    const config =
      "tools: [./none.ts]\nhttp: { host: 0.0.0.0 }\npolicy: { files: [rules.yaml] }\nworkspace: nowhere\n";
    writeFileSync(shell.path("sallyport.yaml"), config);
    writeFileSync(shell.path("rules.yaml"), "rules: 5\n");
    const { issues } = await shell.json<{ issues: { path: string; reason: string }[] }>(["config", "check"]);
    const places = issues.map(({ path }) => path.replace(`${shell.folder}/`, ""));
    expect(places).toEqual([
      "sallyport.yaml:1:9",
      "sallyport.yaml:4:1",
      "sallyport.yaml:2:9",
      "rules.yaml:1",
      "rules.yaml:1",
    ]);
  });

  it("names each capability that cannot be used, where it stands", async () => {
    const config = "capabilities:\n  - id: a.b\n    requires: [none]\n  - id: Not_ok\n";
    writeFileSync(shell.path("sallyport.yaml"), config);
    const { stdout } = await shell.run(["config", "check"]);
    expect(stdout).toContain(":3:5 capabilities[0].requires there is no capability none");
    expect(stdout).toContain(':4:5 capabilities[1].id "Not_ok" is not a dotted lower-case name');
    expect((await shell.run(["tools", "list"])).code).toBe(0);
    const refused = await shell.run(["call", "none"]);
    expect(refused.stderr).toMatch(/E3220[\s\S]*\/1\/id "Not_ok"[\s\S]*→ Correct each capability/);
  });

  it("agrees with tools list and a reload about each module, with its line", async () => {
    const modules: [string, string, RegExp][] = [
      ["syntax.mjs", "export const a = ;\n", /:1:18 /],
      ["types.mts", "const a: number = 1;\nexport const b: = a;\n", /:2:\d+ /],
      [
        "schemas.mjs",
        `${DEFINE}\nexport const t = defineTool({ id: "x", run: () => 1 });\n`,
        /:2:18 .*no input schema/,
      ],
      ["run.mjs", `${DEFINE}\nexport const t = defineTool({ id: "x", input: {} });\n`, /:2:18 .*no `run`/],
      ["import.mjs", 'import "./gone.mjs";\n', /:1:11 Cannot find module/],
      ["throw.mjs", "\nthrow new Error('no luck');\n", /:2:7 no luck/],
      ["sandboxed.mjs", "\nthrow new Error('no luck');\n", /:2:7 no luck/],
      ["sandboxed.mts", "const a: number = ;\n", /:1:19 /],
    ];
    // A sandbox of another user has to see them.
    chmodSync(shell.folder, 0o777);
    for (const [name, code] of modules) writeFileSync(shell.path(name), code);
    const runner = (name: string) => (name.startsWith("sandboxed") ? "script" : "thread");
    const tools = modules.map(([name]) => `  - { module: ${name}, runner: ${runner(name)} }\n`);
    writeFileSync(shell.path("sallyport.yaml"), `tools:\n${tools.join("")}`);
    const checked = await shell.runAlone(["config", "check", "--json"]);
    const issues: Issue[] = JSON.parse(checked.stdout).issues;
    const listed = await shell.runAlone(["tools", "list"]);
    for (const [index, [name, , place]] of modules.entries()) {
      const told = new RegExp(`${name} cannot be loaded: /.*/${name}${place.source}`);
      expect(issues[index]).toMatchObject({
        path: expect.stringContaining(`sallyport.yaml:${index + 2}:`),
        reason: expect.stringMatching(told),
      });
      expect(listed.stderr).toMatch(told);
      if (runner(name) === "thread")
        expect(await readModule(shell.path(name))).toMatchObject({ message: expect.stringMatching(told) });
    }
    expect([checked.code, issues.length, listed.code]).toEqual([2, modules.length, 0]);
  });

  it("is what every command does first", async () => {
    writeFileSync(shell.path("sallyport.yaml"), "nonsense: 1\n");
    for (const command of [["tools", "list"], ["serve"], ["doctor"]]) {
      const { code, stderr } = await shell.run(command);
      expect([code, stderr], command.join(" ")).toEqual([
        2,
        expect.stringContaining('unknown key "nonsense"'),
      ]);
    }
  });
});

describe("sallyport config explain", () => {
  it("says what a key means, may be and is", async () => {
    const { stdout } = await shell.run(["config", "explain", "http.port"]);
    expect(stdout).toContain("a whole number from 0 to 65535");
    expect(stdout).toMatch(/default: +7420/);
    expect(stdout).toMatch(/now: +8080, from \S+sallyport\.yaml:2:3/);
    expect(stdout).toMatch(/variable: +SALLYPORT__HTTP__PORT/);
    expect(stdout).toMatch(/a reload: +does not apply it/);
    expect((await shell.run(["config", "explain", "grants"])).stdout).toMatch(/a reload: +applies it/);
  });

  it.each(["HTTP.Port", "SALLYPORT__HTTP__PORT"])("knows the key as %s too", async (name) => {
    expect(await shell.json(["config", "explain", name])).toMatchObject({ key: "http.port" });
  });

  it("knows keys in lists, and lists all of them", async () => {
    expect(await shell.json(["config", "explain", "grants.tools"])).toMatchObject({
      key: "grants[].tools",
      variable: null,
    });
    const keys = await shell.json<{ key: string }[]>(["config", "explain"]);
    expect(keys.map(({ key }) => key)).toEqual(expect.arrayContaining(["state", "toolLimits[].enabled"]));
  });

  it("suggests the nearest for one that there is not, and still explains when the file is wrong", async () => {
    const { code, stderr } = await shell.run(["config", "explain", "http.prot"]);
    expect([code, stderr]).toEqual([2, expect.stringContaining("http.port")]);
    writeFileSync(shell.path("sallyport.yaml"), "nonsense: 1\n");
    const explained = await shell.json(["config", "explain", "http.port"]);
    expect(explained).toMatchObject({ current: null, configurationIsRight: false, exitCode: 0 });
  });
});

it("sallyport config schema prints what editors need", async () => {
  const schema = JSON.parse((await shell.run(["config", "schema"])).stdout);
  expect(schema).toMatchObject({
    title: "Sallyport configuration",
    properties: { http: { type: "object" } },
  });
});
