import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { NATIVE_TSC } from "./check-steps.ts";

/*
 * Compiles each package into its dist/, with declarations and a package.json of its own: `npm publish packages/x/dist`.
 * `node scripts/build.ts protocol worker` compiles only these. The sources keep pointing at themselves, so that nothing has to be built to work on them.
 */

interface PackageJson {
  name: string;
  version: string;
  bin?: Record<string, string>;
  exports?: Record<string, string>;
  [key: string]: unknown;
}

const ORDER = ["protocol", "client", "worker", "engine", "loop", "adapters", "server"];
/** What a package has beside its code: the sandbox launcher with the program where it was built, and the scaffolds. */
const EXTRA_FOLDERS = ["native", "templates"];

function compiled(path: string): string {
  return path.replace(/\.ts$/, ".js");
}

function mapped(paths: Record<string, string> | undefined): Record<string, string> | undefined {
  return paths && Object.fromEntries(Object.entries(paths).map(([key, path]) => [key, compiled(path)]));
}

function typed(exports: Record<string, string> | undefined) {
  return (
    exports &&
    Object.fromEntries(
      Object.entries(exports).map(([key, path]) => [
        key,
        { types: path.replace(/\.ts$/, ".d.ts"), default: compiled(path) },
      ]),
    )
  );
}

/** Where the declarations of the packages built before are: a package is compiled against what will be published. */
const declarations: Record<string, string[]> = {};

function compile(folder: string): void {
  const config = {
    extends: "../../tsconfig.base.json",
    compilerOptions: {
      noEmit: false,
      allowImportingTsExtensions: false,
      declaration: true,
      // The command begins in plain JavaScript, for Nodes that read no TypeScript.
      allowJs: true,
      rootDir: ".",
      outDir: "dist",
      paths: declarations,
    },
    include: ["src", "bin"],
    exclude: ["**/*.test.ts", "**/fixtures/**", "dist", "src/*/testing"],
  };
  const file = join(folder, "tsconfig.build.json");
  writeFileSync(file, JSON.stringify(config));
  try {
    execFileSync("node", [NATIVE_TSC, "-p", file], { stdio: "inherit" });
  } finally {
    rmSync(file);
  }
}

/** All of them, or those that are named: a package and what it depends on. */
const named = process.argv.slice(2);
for (const name of ORDER.filter((name) => named.length === 0 || named.includes(name))) {
  const folder = join("packages", name);
  const dist = join(folder, "dist");
  rmSync(dist, { recursive: true, force: true });
  mkdirSync(dist);
  compile(folder);
  const original = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as PackageJson;
  const published = { ...original, bin: mapped(original.bin), exports: typed(original.exports) };
  writeFileSync(join(dist, "package.json"), `${JSON.stringify(published, null, 2)}\n`);
  for (const [key, path] of Object.entries(original.exports ?? {})) {
    declarations[join(original.name, key)] = [`../${name}/dist/${path.replace(/\.ts$/, ".d.ts")}`];
  }
  for (const extra of ["LICENSE", join(folder, "README.md")]) {
    if (existsSync(extra)) cpSync(extra, join(dist, extra.split("/").at(-1) ?? extra));
  }
  for (const extra of EXTRA_FOLDERS) {
    const source = join(folder, extra);
    if (existsSync(source)) cpSync(source, join(dist, extra), { recursive: true });
  }
  console.log(
    `${original.name} ${original.version}: ${readdirSync(dist, { recursive: true }).length} files in ${dist}`,
  );
}
