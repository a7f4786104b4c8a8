import { execFileSync, spawnSync } from "node:child_process";
import {
  accessSync,
  chmodSync,
  constants,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "sallyport-published-"));
const tarballs = join(folder, "tarballs");
const BIN = join(folder, "node_modules/.bin/sallyport");
// Whoever tools run as has to find the installation.
chmodSync(folder, 0o755);

interface Locked {
  dev?: boolean;
  link?: boolean;
}

/**
 * Installs the tarballs as a reader of docs/install.md does. The dependencies are at the versions of the workspace: what
 * `npm ci` left in npm's cache is enough, and the network is asked for what is missing there only.
 */
function install(): void {
  const { packages } = JSON.parse(readFileSync(join(ROOT, "package-lock.json"), "utf8"));
  const others = Object.entries<Locked>(packages).filter(
    ([path, { dev, link }]) => path.startsWith("node_modules/") && !dev && !link,
  );
  const lock = { name: "here", lockfileVersion: 3, packages: { "": {}, ...Object.fromEntries(others) } };
  writeFileSync(join(folder, "package-lock.json"), JSON.stringify(lock));
  writeFileSync(join(folder, "package.json"), '{ "name": "here", "type": "module" }');
  const files = readdirSync(tarballs).filter((name) => name.endsWith(".tgz"));
  const words = ["install", "--prefer-offline", "--no-audit", ...files.map((name) => `./tarballs/${name}`)];
  execFileSync("npm", words, { cwd: folder, stdio: "pipe" });
}

function sallyport(...args: string[]): string {
  // As from a shell: the runner of these tests may itself have been started by npx.
  const env = { ...process.env, npm_command: undefined };
  return execFileSync(BIN, args, { cwd: folder, encoding: "utf8", stdio: "pipe", env });
}

/** The path of a Node below 24 on this machine. */
function oldNode(): string | undefined {
  const paths = (process.env.PATH ?? "").split(delimiter).map((place) => join(place, "node"));
  return paths.find((path) => {
    const { stdout } = spawnSync(path, ["--version"], { encoding: "utf8" });
    return Number(/^v(\d+)/.exec(stdout ?? "")?.[1] ?? 24) < 24;
  });
}

describe("the published packages", () => {
  beforeAll(() => {
    execFileSync(process.execPath, ["scripts/pack.ts", tarballs], { cwd: ROOT, stdio: "pipe" });
    install();
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

  it("are a command, a project and a call, without a compiler or a registry of ours [X-17]", () => {
    const { version } = JSON.parse(readFileSync(join(ROOT, "packages/server/package.json"), "utf8"));
    expect(sallyport("--version")).toBe(`${version}\n`);
    const said = sallyport("init", "project");
    expect(said).toContain(`$ ${BIN} serve`);
    expect(said).not.toContain("a link to");
    const config = join(folder, "project/sallyport.yaml");
    expect(JSON.parse(sallyport("call", "greet", '{"name":"Ada"}', "--config", config))).toEqual({
      greeting: "Hello, Ada!",
    });
    const launcher = "node_modules/@sallyport/adapters/native/build/linux-x64/sallyport-launcher";
    if (process.platform === "linux" && process.arch === "x64")
      accessSync(join(folder, launcher), constants.X_OK);
  });

  const old = oldNode();
  it.skipIf(old === undefined)(
    `are told the way to Node 24 by an old one, and take it [X-17]${old ? "" : " (no older Node on PATH)"}`,
    () => {
      const run = () => {
        const ran = spawnSync(old ?? "", [BIN, "--version"], { cwd: folder, encoding: "utf8" });
        return [ran.status, ran.stdout, ran.stderr];
      };
      const said =
        /^Sallyport needs Node 24 or newer; this is Node [\d.]+\. Add one .*: npm install node@24\n$/;
      expect(run()).toEqual([70, "", expect.stringMatching(said)]);
      symlinkSync(join(ROOT, "node_modules/node"), join(folder, "node_modules/node"));
      expect(run()).toEqual([0, sallyport("--version"), ""]);
    },
  );

  it.skipIf(old === undefined)("come from a clone in which `npm ci` warns of no engine [X-17]", () => {
    const path = [dirname(old ?? ""), process.env.PATH].join(delimiter);
    const words = ["ci", "--dry-run", "--offline", "--ignore-scripts"];
    const ran = spawnSync("npm", words, { cwd: ROOT, encoding: "utf8", env: { ...process.env, PATH: path } });
    expect([ran.status, ran.stderr]).toEqual([0, ""]);
  });

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

  it("begin a worker that runs, and never passes without a test [AX-ONB-1] [X-17]", () => {
    sallyport("worker", "new", "counting");
    const test = { cwd: join(folder, "counting"), encoding: "utf8" } as const;
    expect(execFileSync("npm", ["test"], test)).toMatch(/pass 2/);
    rmSync(join(test.cwd, "tool.test.ts"));
    expect(spawnSync("npm", ["test"], test).status).toBe(1);
    if (old === undefined) return;
    const path = [dirname(old), process.env.PATH].join(delimiter);
    for (const word of ["test", "start"]) {
      const ran = spawnSync("npm", [word], { ...test, env: { ...process.env, PATH: path } });
      expect([ran.status, ran.stderr]).toEqual([
        1,
        expect.stringContaining("This worker needs Node 24 or newer"),
      ]);
    }
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
