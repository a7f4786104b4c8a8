import { registerHooks } from "node:module";
import { Writable } from "node:stream";
import { pathToFileURL } from "node:url";
import { toolsOf } from "./call-server.ts";
import { loadProblem } from "./load-problem.ts";
import { describeThrown } from "./tool-result.ts";

// The program that reads a module's manifests inside the sandbox: it imports the module, writes what the module says
// about itself as one JSON text, and ends. The module can forge nothing but its own manifests.

const { stdout, stderr, exit } = process;
const { stringify } = JSON;
/** What was loaded, by its address. */
const files = new Map<string, string>();

Object.defineProperty(process, "stdout", {
  value: new Writable({ write: (chunk, encoding, done) => void stderr.write(chunk, encoding, () => done()) }),
});
process.on("uncaughtException", fail);
registerHooks({
  load(url, context, next) {
    const loaded = next(url, context);
    if (url.startsWith("file:")) files.set(url, String(loaded.source ?? ""));
    return loaded;
  },
});

try {
  const tools = toolsOf(await import(process.argv[2] ?? ""));
  say({ tools: tools.map(({ manifest, programs }) => ({ manifest, programs })), files: [...files.keys()] });
} catch (error) {
  fail(error);
}

function fail(error: unknown): void {
  const why = loadProblem(error, process.argv[2] ?? "", (path) => files.get(pathToFileURL(path).href));
  say({ error: describeThrown(new Error(why)).message });
}

function say(found: object): void {
  stdout.write(stringify(found), () => exit());
}
