import { execFile } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { startServer } from "./child-server.ts";
import type { HttpContender } from "./contender.ts";

export interface ServerOptions {
  name: string;
  /** For everything it keeps. */
  folder: string;
  /** power: every outcome is synced to disk before it is answered. process: it outlives the process only. */
  durability: "power" | "process";
  /** Where Sallyport is; another checkout, to compare two. */
  root?: string;
  execArgv?: readonly string[];
}

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
const run = promisify(execFile);

/** `sallyport serve` as it is, with a token for every call, a rules file, the journal and the audit log. */
export async function serverContender(options: ServerOptions): Promise<HttpContender> {
  const { name, folder, root = ROOT, execArgv = [] } = options;
  const bin = join(root, "packages/server/bin/sallyport.js");
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "sallyport.yaml"), configuration(options));
  writeFileSync(join(folder, "policy.yaml"), POLICY);
  const command = async (...args: string[]) =>
    (await run(process.execPath, [bin, ...args], { cwd: folder })).stdout.trim();
  await command("keys", "init");
  const token = await command("token", "mint", ...WHOSE, "--tool", "bench.add", "--ttl", "12h");
  const { report, pid, close } = await startServer<{ url: string }>([bin, "serve", "--port", "0", "--json"], {
    cwd: folder,
    execArgv,
  });
  return {
    name,
    url: `${report.url}/v1/tools/invoke`,
    pid,
    request: () => ({
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: INVOKE,
    }),
    isRight: (body) => body.includes('"status":"success"') && body.includes('"result":{"result":5}'),
    close,
  };
}

const WHOSE = ["--agent", "bench", "--tenant", "acme"];
const INVOKE = JSON.stringify({ tool_id: "bench.add", operation: "add", parameters: { a: 2, b: 3 } });

/** Only what would keep 64 callers of one agent and one tool waiting for each other is not as it comes. */
function configuration({ durability, root = ROOT }: ServerOptions): string {
  return `
durability: ${durability}
tools:
  - { module: ${JSON.stringify(join(root, "test/bench/subject.ts"))}, runner: inline }
grants:
  - { id: adding, tools: [bench.add] }
policy: { files: [policy.yaml] }
tokens: { required: true }
http: { callers: token }
limits: { concurrentCalls: 256, concurrentCallsPerAgent: 256, concurrentCallsPerTool: 256 }
`;
}

const POLICY = `
version: 1
default: deny
rules:
  - id: adding-is-fine
    effect: allow
    match: { tools: [bench.add], sideEffects: none, arguments: { /a: { max: 1000 } } }
    examples:
      match: [{ tool: bench.add, input: { a: 2, b: 3 } }]
      not: [{ tool: bench.pay, input: { a: 2, b: 3 } }]
  - id: never-pay
    effect: deny
    reason: Nobody pays here.
    match: { tools: [bench.pay] }
    examples:
      match: [{ tool: bench.pay }]
      not: [{ tool: bench.add }]
`;
