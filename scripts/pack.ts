import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";

/*
 * Builds every package and packs it: `npm install tarballs/*.tgz` in an empty folder is an installation. The packages name
 * each other by version and npm finds them among the tarballs, so that no registry has to know them. Each tarball for Linux
 * holds the launcher of this host's architecture. `node scripts/pack.ts FOLDER` puts them elsewhere.
 */

const folder = resolve(process.argv[2] ?? "tarballs");
const packages = readdirSync("packages");

function run(command: string, args: string[]): void {
  execFileSync(command, args, { stdio: ["ignore", "ignore", "inherit"] });
}

mkdirSync(folder, { recursive: true });
// Those of before, and nothing else that may be there.
for (const old of readdirSync(folder).filter((name) => /^sallyport-.*\.tgz$/.test(name)))
  rmSync(join(folder, old));
if (process.platform === "linux") run("node", ["scripts/build-launcher.ts", "--verify"]);
else console.log("Without a sandbox launcher: it is built on Linux.");
run("node", ["scripts/build.ts"]);
for (const name of packages) {
  run("npm", ["pack", `./${join("packages", name, "dist")}`, "--pack-destination", folder, "--silent"]);
}
const tarballs = readdirSync(folder).filter((name) => name.endsWith(".tgz"));
const sums = tarballs.map(
  (name) =>
    `${createHash("sha256")
      .update(readFileSync(join(folder, name)))
      .digest("hex")}  ${name}`,
);
writeFileSync(join(folder, "SHA256SUMS"), `${sums.join("\n")}\n`);
console.log([...sums, "", `To install them in another folder: npm install ${folder}/*.tgz`].join("\n"));
