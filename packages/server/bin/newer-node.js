// @ts-check
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const FORWARDED = ["SIGINT", "SIGTERM", "SIGHUP"];
const MISSING = 70;

/**
 * Runs this command again with a Node of at least this major version that npm has put above it (`npm install node@24`).
 * Where there is none it says so in one line.
 * @param {number} oldest
 */
export function runWithNode(oldest) {
  const script = process.argv[1] ?? "";
  // The program itself, and the link to it: with `npm link` they are in different installations.
  const node = findNode(dirname(fileURLToPath(import.meta.url)), oldest) ?? findNode(dirname(script), oldest);
  if (node === undefined) return refuse(oldest);
  const child = spawn(node, process.argv.slice(1), { stdio: "inherit" });
  for (const signal of FORWARDED) process.on(signal, () => forward(child, signal));
  child.on("error", () => refuse(oldest));
  child.on("exit", (code, signal) => {
    if (signal === null) process.exit(code ?? MISSING);
    for (const name of FORWARDED) process.removeAllListeners(name);
    process.kill(process.pid, signal);
  });
}

/**
 * @param {import("node:child_process").ChildProcess} child
 * @param {string} signal
 */
function forward(child, signal) {
  // A terminal sends Ctrl-C to both; twice would mean "at once".
  if (signal === "SIGINT" && (process.stdin.isTTY || process.stdout.isTTY || process.stderr.isTTY)) return;
  child.kill(/** @type {NodeJS.Signals} */ (signal));
}

/**
 * Never from the working folder, which may be anyone's.
 * @param {string} folder
 * @param {number} oldest
 * @returns {string | undefined}
 */
function findNode(folder, oldest) {
  const place = join(folder, "node_modules", "node");
  try {
    const { version } = JSON.parse(readFileSync(join(place, "package.json"), "utf8"));
    if (Number.parseInt(version, 10) >= oldest)
      return join(place, "bin", process.platform === "win32" ? "node.exe" : "node");
  } catch {
    // None here: look further up.
  }
  return folder === dirname(folder) ? undefined : findNode(dirname(folder), oldest);
}

/** @param {number} oldest */
function refuse(oldest) {
  const { node } = process.versions;
  process.stderr.write(
    `Sallyport needs Node ${oldest} or newer; this is Node ${node}. Add one where Sallyport is installed: npm install node@${oldest}\n`,
  );
  process.exit(MISSING);
}
