import { execFileSync } from "node:child_process";
import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "sallyport-published-"));
// Whoever tools run as has to find the installation.
chmodSync(folder, 0o755);

/** A folder as a user has it: the built packages and their dependencies in node_modules, nothing of the sources. */
function install(): void {
  const modules = join(folder, "node_modules");
  mkdirSync(join(modules, "@sallyport"), { recursive: true });
  for (const name of ["protocol", "client", "worker", "engine", "loop", "adapters"]) {
    cpSync(join(ROOT, "packages", name, "dist"), join(modules, "@sallyport", name), { recursive: true });
  }
  cpSync(join(ROOT, "packages/server/dist"), join(modules, "sallyport"), { recursive: true });
  for (const name of readdirSync(join(ROOT, "node_modules"))) {
    const ours = name === "@sallyport" || name === "sallyport" || name.startsWith(".");
    if (ours) continue;
    // A sandbox sees this folder and not where a link out of it leads; real installations have no such links.
    if (name === "semver") cpSync(join(ROOT, "node_modules", name), join(modules, name), { recursive: true });
    else symlinkSync(join(ROOT, "node_modules", name), join(modules, name));
  }
}

function sallyport(...args: string[]): string {
  const bin = join(folder, "node_modules/sallyport/bin/sallyport.js");
  return execFileSync(process.execPath, [bin, ...args], { cwd: folder, encoding: "utf8", stdio: "pipe" });
}

describe("the published packages", () => {
  beforeAll(() => {
    execFileSync(process.execPath, ["scripts/build.ts"], { cwd: ROOT, stdio: "pipe" });
    install();
    writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
    writeFileSync(
      join(folder, "greet.js"),
      `import { defineTool } from "@sallyport/engine/tool";
      const $schema = "https://json-schema.org/draft/2020-12/schema";
      export default defineTool({
        id: "greet", version: "1.0.0", description: "Greets.", sideEffects: "none",
        input: { $schema, type: "object", properties: { name: { type: "string" } }, required: ["name"] },
        output: { $schema, type: "string" },
        run: ({ name }) => "Hello, " + name,
      });`,
    );
    writeFileSync(
      join(folder, "sallyport.yaml"),
      "tools: [./greet.js]\ngrants: [{ id: g, tools: [greet] }]\n",
    );
  }, 900_000);

  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it("run a tool in a thread, keep the record and verify it", () => {
    expect(JSON.parse(sallyport("call", "greet", '{"name":"Ada"}'))).toBe("Hello, Ada");
    expect(JSON.parse(sallyport("audit", "verify", "--json"))).toMatchObject({ intact: true });
  });

  it("run the same tool, and any command, in a sandbox [L3-EXE-2]", () => {
    const config = join(folder, "isolated.yaml");
    writeFileSync(
      config,
      "state: isolated\ntools: [{ module: ./greet.js, runner: script }]\ngrants: [{ id: g, tools: [greet] }]\n",
    );
    const answer = sallyport("call", "greet", '{"name":"Ada"}', "--json", "--config", config);
    expect(JSON.parse(answer)).toMatchObject({ result: "Hello, Ada", isolation: { level: "LEVEL_2" } });
    expect(sallyport("run", "--config", config, "--", "echo", "isolated")).toBe("isolated\n");
  });

  it("can be imported by every name they export", () => {
    const names = [
      "sallyport",
      "@sallyport/protocol",
      "@sallyport/client",
      "@sallyport/client/search",
      "@sallyport/client/disk-cache",
      "@sallyport/protocol/worker",
      "@sallyport/worker",
      "@sallyport/engine",
      "@sallyport/engine/tool",
      "@sallyport/engine/chain",
      "@sallyport/engine/ports",
    ];
    const adapters = [
      "@sallyport/adapters/sqlite",
      "@sallyport/adapters/events",
      "@sallyport/adapters/webhook",
    ];
    const script = [...names, ...adapters].map((name) => `await import(${JSON.stringify(name)});`).join("\n");
    writeFileSync(join(folder, "imports.js"), `${script}\nconsole.log("all");\n`);
    const stdout = execFileSync(process.execPath, ["imports.js"], { cwd: folder, encoding: "utf8" });
    expect(stdout.trim()).toBe("all");
  });

  it("give authors of workers less than 300 kB to install [AX-ONB-1]", () => {
    const files = ["protocol", "worker"].flatMap((name) => {
      const own = join(folder, "node_modules/@sallyport", name);
      return readdirSync(own, { recursive: true, encoding: "utf8" }).map((file) => statSync(join(own, file)));
    });
    const bytes = files.filter((file) => file.isFile()).reduce((sum, { size }) => sum + size, 0);
    expect(bytes).toBeLessThan(300_000);
  });

  it("begin a worker that runs [AX-ONB-1]", () => {
    sallyport("worker", "new", "counting");
    const tests = execFileSync(process.execPath, ["--test"], {
      cwd: join(folder, "counting"),
      encoding: "utf8",
    });
    expect(tests).toMatch(/pass 2/);
  });

  it("hold only compiled code, with declarations", () => {
    const files = readdirSync(join(folder, "node_modules/@sallyport/engine"), { recursive: true }).map(
      String,
    );
    expect(files.filter((file) => file.endsWith(".ts") && !file.endsWith(".d.ts"))).toEqual([]);
    expect(files).toContain(join("src", "index.d.ts"));
    expect(files.filter((file) => file.includes(".test."))).toEqual([]);
  });
});
