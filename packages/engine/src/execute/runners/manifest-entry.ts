import { registerHooks } from "node:module";
import { Writable } from "node:stream";
import { toolsOf } from "./call-server.ts";
import { loadProblem } from "./load-problem.ts";
import { describeThrown } from "./tool-result.ts";

// The program that reads a module's manifests inside the sandbox: it imports the module, writes what the module says
// about itself as one JSON text, and ends. The module can forge nothing but its own manifests.

const { stdout, stderr, exit } = process;
const { stringify } = JSON;
const files = new Set<string>();

Object.defineProperty(process, "stdout", {
  value: new Writable({ write: (chunk, encoding, done) => void stderr.write(chunk, encoding, () => done()) }),
});
process.on("uncaughtException", fail);
registerHooks({
  load(url, context, next) {
    if (url.startsWith("file:")) files.add(url);
    return next(url, context);
  },
});

try {
  const tools = toolsOf(await import(process.argv[2] ?? ""));
  say({ tools: tools.map(({ manifest, programs }) => ({ manifest, programs })), files: [...files] });
} catch (error) {
  fail(error);
}

function fail(error: unknown): void {
  say({ error: describeThrown(new Error(loadProblem(error, process.argv[2] ?? ""))).message });
}

function say(found: object): void {
  stdout.write(stringify(found), () => exit());
}
