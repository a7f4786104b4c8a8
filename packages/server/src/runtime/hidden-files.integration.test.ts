import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { builtinTools } from "@sallyport/adapters/builtin-tools";
import { openPathSandbox } from "@sallyport/adapters/path-sandbox";
import { createEngine, createMemoryStore, grantAuthority } from "@sallyport/engine";
import { afterEach, beforeEach, expect, it } from "vitest";
import { ConfigFolder } from "../config/fixtures/config-folder.ts";
import { shell, snoop } from "../fixtures/isolated-tools.ts";
import { reloadRuntime } from "../reload/reload-runtime.ts";
import { hiddenPaths, tryIsolation } from "./isolation.ts";
import { openRuntime } from "./runtime.ts";

const NAMES = [
  ...[
    "database",
    "key-encryption",
    "webhook",
    "sink-header",
    "sasl",
    "broker.ca",
    "broker.cert",
    "broker.key",
  ],
  ...["s3-id", "s3-secret", "s3-token", "credential", "model", "model-header", "http.cert", "http.key"],
  ...["public.pem", "jwks.json", "rules.yaml", "events.jsonl"],
];

const CONFIG = `
store: { postgres: { url: { file: work/database } }, keyEncryption: { file: work/key-encryption } }
webhooks: { secret: { file: work/webhook } }
events:
  sinks:
    - { name: a, http: { url: "https://siem.example", headers: { x-key: { file: work/sink-header }, file: text } } }
    - { name: c, jsonl: { file: work/events.jsonl } }
    - name: b
      kafka:
        brokers: ["kafka.example:9092"]
        tls: { ca: work/broker.ca, cert: work/broker.cert, key: work/broker.key }
        sasl: { mechanism: PLAIN, username: u, password: { file: work/sasl } }
blobs:
  s3:
    endpoint: https://s3.example
    bucket: archive
    accessKeyId: { file: work/s3-id }
    secretAccessKey: { file: work/s3-secret }
    sessionToken: { file: work/s3-token }
credentials: { upstream: { host: localhost, secret: { file: work/credential } } }
models:
  providers:
    lab:
      kind: openai-compatible
      baseUrl: http://127.0.0.1:9/v1
      apiKey: { file: work/model }
      headers: { x-gate: { file: work/model-header } }
http: { tls: { cert: work/http.cert, key: work/http.key } }
tokens: { jwks: work/jwks.json, publicKeys: [work/public.pem] }
policy: { files: [work/rules.yaml] }
`;

const CALLER = { tenant: "t", agent: "a", session: "s" };
const all = { tenants: ["*"], agents: ["*"], tools: ["*"], operations: ["*"] };
const GRANTED = grantAuthority([
  { id: "all", ...all, capabilities: ["filesystem.read", "filesystem.write", "filesystem.delete"] },
]);

let folder: ConfigFolder;
beforeEach(() => {
  folder = new ConfigFolder();
  mkdirSync(join(folder.path, "work"));
  for (const name of [...NAMES, "other"]) writeFileSync(join(folder.path, "work", name), `text of ${name}`);
});
afterEach(() => folder.remove());

/** The files in `work` whose text a command, a function or read_file gets to see, each with who saw it. */
async function seenWith(yaml: string): Promise<string[]> {
  const config = folder.write(yaml).config();
  const [readFile] = builtinTools({
    sandbox: openPathSandbox({ roots: [folder.path] }),
    reads: { note: async () => {}, find: async () => undefined },
    outputBudgets: { of: () => ({ maxOutputBytes: 1_000, availableBytes: 10_000, allowTruncation: true }) },
    root: folder.path,
    hidden: hiddenPaths(config),
  }).filter(({ loop }) => loop.name === "read_file");
  return tryIsolation(config, async ({ rules, runners }) => {
    const engine = await createEngine({
      ...{ store: createMemoryStore(), authority: GRANTED, runners, isolation: rules },
    });
    for (const tool of [shell, snoop, ...(readFile ? [readFile.tool] : [])])
      await engine.tools.add(tool, { keep: false });
    const seen: string[] = [];
    for (const name of [...NAMES, "other"])
      for (const [tool, input] of [
        ["shell", { command: ["cat", name] }],
        ["snoop", { path: `work/${name}` }],
        ["read_file", { path: `work/${name}` }],
      ] as const) {
        const answer = await engine.call({ tool, input, caller: CALLER, disclosure: "full" });
        if (JSON.stringify(answer).includes(`text of ${name}`)) seen.push(`${tool} ${name}`);
      }
    await engine.close();
    return seen;
  });
}

it("no tool sees a file that the configuration refers to: no command, no function, not read_file [D-16]", async () => {
  const without = await seenWith("");
  expect(without).toEqual(expect.arrayContaining(NAMES.map((name) => `shell ${name}`)));
  expect(await seenWith(CONFIG)).toEqual(["shell other", "snoop other", "read_file other"]);
});

it("a rules file that a reload brings is hidden from then on", async () => {
  const fixture = import.meta.resolve("../fixtures/isolated-tools.ts");
  writeFileSync(join(folder.path, "shell.mjs"), `export { shell } from ${JSON.stringify(fixture)};`);
  const granted = `tools: [shell.mjs]\ngrants: [{ id: g, tools: ["*"], capabilities: [filesystem.read] }]\nevents: false\n`;
  writeFileSync(join(folder.path, "work", "rules.yaml"), "version: 1\ndefault: allow\nrules: []\n");
  const runtime = await openRuntime({ config: folder.write(granted).config() });
  try {
    const read = async (name: string) => {
      const answer = await runtime.engine.call({
        ...{ tool: "shell", input: { command: ["cat", name] }, caller: CALLER, disclosure: "full" },
      });
      return JSON.stringify(answer);
    };
    expect(await read("rules.yaml")).toContain("version: 1");
    folder.write(`${granted}policy: { files: [work/rules.yaml] }\n`);
    expect(await reloadRuntime(runtime)).toMatchObject({ ok: true });
    expect(await read("other")).toContain("text of other");
    expect(await read("rules.yaml")).not.toContain("version: 1");
  } finally {
    await runtime.close();
  }
});
