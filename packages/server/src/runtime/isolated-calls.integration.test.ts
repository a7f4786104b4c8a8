import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { createServer, type Server } from "node:http";
import { type AddressInfo, createServer as createUnixServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { CallRequest } from "@sallyport/engine";
import { defineTool } from "@sallyport/engine/tool";
import { type CallAnswer, isFailure, type JsonValue } from "@sallyport/protocol";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { loadConfig } from "../config/load.ts";
import { openRuntime, type Runtime } from "./runtime.ts";

const TOOLS = fileURLToPath(new URL("../fixtures/isolated-tools.ts", import.meta.url));
const CALLER = { tenant: "t", agent: "a" };

let folder: string;
let runtime: Runtime;

async function open(more = "", runner = "script"): Promise<void> {
  writeFileSync(
    join(folder, "sallyport.yaml"),
    `tools:
  - { module: ${TOOLS}, runner: ${runner} }
grants:
  - id: all
    tools: ["*"]
    capabilities: [filesystem.read, filesystem.write, filesystem.delete, state.read, state.write]
${more}`,
  );
  runtime = await openRuntime({ config: loadConfig({ cwd: folder }) });
  expect(runtime.problems).toEqual([]);
}

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "sallyport-isolated-"));
  mkdirSync(join(folder, "work"));
  writeFileSync(join(folder, "work", "kept.txt"), "one\n");
});

afterEach(async () => {
  await runtime?.close();
  rmSync(folder, { recursive: true, force: true });
});

const call = (tool: string, input: JsonValue, more: Partial<CallRequest> = {}) =>
  runtime.engine.call({ tool, input, caller: CALLER, disclosure: "full", ...more });
const sh = (script: string, more: Partial<CallRequest> = {}) =>
  call("shell", { command: ["sh", "-c", script] }, more);
const kept = () => readFileSync(join(folder, "work", "kept.txt"), "utf8");
const codeOf = (answer: CallAnswer) => (answer.status === "success" ? "success" : answer.error.code);

describe("a command tool, through the whole passage", () => {
  it("commits its files with its outcome, and the receipt carries their digest [R1-4.3]", async () => {
    await open();
    const answer = await sh("echo two >> kept.txt; mkdir d; echo x > d/new");
    expect(answer).toMatchObject({
      status: "success",
      isolation: { level: "LEVEL_2", runner: "bubblewrap" },
    });
    expect(kept()).toBe("one\ntwo\n");
    expect(answer.effects?.files.map(({ path, change }) => `${change} ${path}`)).toEqual([
      "added d",
      "added d/new",
      "edited kept.txt",
    ]);
    expect(answer.receipt?.effectsHash).toBe(answer.effects?.digest);
    expect(answer.enforcement).toMatchObject({ wall: "watch" });
    expect(answer.usage.memoryPeakBytes).toBeGreaterThan(0);
  });

  it.each([
    ["a failing exit", "echo x > kept.txt; exit 3", "E3108"],
    ["a crash", "echo x > kept.txt; kill -SEGV $$", "E3107"],
    ["a timeout", "echo x > kept.txt; sleep 90", "E3103"],
    [
      "too much memory",
      "echo x > kept.txt; python3 -c 'x=bytearray(900_000_000)'; exit $?",
      "E3102|E3108|E3107",
    ],
  ])("is rolled back, and proved so, after %s [R1-7.2] [R1-5.2] [L3-EXE-4]", async (_what, script, code) => {
    await open();
    const answer = await sh(script, code === "E3103" ? { limits: { timeoutMs: 3_000 } } : {});
    expect(codeOf(answer)).toMatch(new RegExp(`^(${code})$`));
    expect(answer.rollback).toMatchObject({
      ...{ verified: true, files: { verified: true }, covers: ["state", "files"], unseen: [] },
    });
    expect(kept()).toBe("one\n");
  });

  it("keeps its changes when it prints more than its limit: the text is cut [FR-OUT-04]", async () => {
    await open();
    const answer = await sh("echo x > kept.txt; head -c 1000000 /dev/zero");
    expect(codeOf(answer)).toBe("success");
    expect(kept()).toBe("x\n");
  });

  it("leaves the tool in quarantine when it tries to break out, with everything rolled back [R2-3]", async () => {
    await open();
    const answer = await sh("echo x > kept.txt; mount -t tmpfs none /tmp; echo still here");
    expect(codeOf(answer)).toBe("E3109");
    expect(answer.violations).toMatchObject([{ type: "SYSCALL", severity: "CRITICAL", subject: "mount" }]);
    expect(kept()).toBe("one\n");
    expect(codeOf(await sh("true"))).toBe("E3219");
    const released = await runtime.engine.tools.release("shell", "1.0.0", { by: "ada", note: "seen" });
    expect(isFailure(released)).toBe(false);
    expect(codeOf(await sh("true"))).toBe("success");
  });

  it("is refused where its level cannot be had, never run weaker [L3-EXE-2] [R2-1]", async () => {
    await open("sandbox: { backends: [process] }\n", "thread");
    const answer = await sh("echo x > kept.txt");
    expect(codeOf(answer)).toBe("E3101");
    expect(kept()).toBe("one\n");
  });

  it("runs weaker only by explicit policy, and says so", async () => {
    // Without namespaces the way to the folder is the host's: whoever the tool runs as must be let through.
    chmodSync(folder, 0o755);
    await open(
      `sandbox:
  backends: [process]
  weaker: [{ tools: [shell], level: LEVEL_1, because: a test }]
`,
      "thread",
    );
    const answer = await sh("echo two >> kept.txt");
    expect(answer).toMatchObject({ status: "success", isolation: { level: "LEVEL_1", runner: "process" } });
  });

  it("stays inside its agent's bounds [L3-EXE-1]", async () => {
    await open("agents: [{ agents: [a], limits: { memoryBytes: 1048576 } }]\n");
    expect(codeOf(await sh("true"))).toBe("E3102");
    await runtime.close();
    await open(`agents: [{ agents: [a], permissions: { filesystem: [{ path: /usr, mode: ro }] } }]\n`);
    expect(codeOf(await sh("true"))).toBe("E3105");
    await runtime.close();
    const work = join(folder, "work");
    await open(`agents: [{ agents: [a], permissions: { filesystem: [{ path: ${work}, mode: rw }] } }]\n`);
    expect(codeOf(await sh("echo two >> kept.txt"))).toBe("success");
    expect(kept()).toBe("one\ntwo\n");
    expect(codeOf(await call("fetcher", { command: ["true"] }))).toBe("E3104");
  });

  it("shows a dry run's effects and keeps nothing", async () => {
    await open();
    const answer = await sh("echo two >> kept.txt", { dryRun: true });
    expect(answer).toMatchObject({ status: "success", dryRun: true, rollback: { verified: true } });
    expect(answer.effects?.files).toHaveLength(1);
    expect(kept()).toBe("one\n");
    const record = await runtime.store.calls.get(answer.callId);
    expect(record?.closing?.answer).toMatchObject({ dryRun: true });
  });
});

describe("what decides and what is secret", () => {
  it("is out of reach of functions too, wherever it is kept", async () => {
    writeFileSync(join(folder, "token.txt"), "s3cr3t-value\n", { mode: 0o600 });
    writeFileSync(join(folder, "rules.yaml"), "version: 1\ndefault: allow\nrules: []\n");
    await open(`state: kept
policy: { files: [rules.yaml] }
credentials: { upstream: { host: localhost, secret: { file: token.txt } } }
`);
    for (const path of ["token.txt", "kept/keys/grants.key", "sallyport.yaml", "rules.yaml"]) {
      expect(codeOf(await call("snoop", { path }))).not.toBe("success");
      expect(codeOf(await call("snoop", { path, write: true }))).not.toBe("success");
    }
    expect(readFileSync(join(folder, "token.txt"), "utf8")).toBe("s3cr3t-value\n");
    expect(codeOf(await call("snoop", { path: "work/kept.txt" }))).toBe("success");
  });

  it("a folder inside the state folder is no workspace", async () => {
    await open("state: work\n");
    expect(codeOf(await sh("ls"))).toBe("E3105");
  });
});

describe("a try-out that nobody approved", () => {
  const preview = `policy: { files: [rules.yaml] }
sandbox: { warm: { perTool: 0 } }
`;
  const rules = (effect: string, more = "") =>
    writeFileSync(
      join(folder, "rules.yaml"),
      `version: 1
default: allow
rules:
  - { id: r, effect: ${effect}, reason: r, ${more} match: { tools: [shell] }, examples: { match: [{ tool: shell }], not: [{ tool: x }] } }
`,
    );

  it("is not committed when the policy no longer asks: the call runs as it is now", async () => {
    rules("ask", "preview: true,");
    await open(preview);
    const asked = await sh("cat kept.txt > copy.txt");
    expect(asked.status).toBe("pending_approval");
    await runtime.close();
    rules("allow");
    writeFileSync(join(folder, "work", "kept.txt"), "changed since\n");
    await open(preview);
    const done = await runtime.engine.resume(asked.callId);
    expect(done).toMatchObject({ status: "success" });
    expect(readFileSync(join(folder, "work", "copy.txt"), "utf8")).toBe("changed since\n");
  });

  it("is dropped when the question is put anew, and the new one is about the call as it is", async () => {
    rules("ask", "preview: true,");
    await open(preview);
    const asked = await sh("echo tried > made.txt");
    await runtime.close();
    rules("ask");
    await open(preview);
    const again = await runtime.engine.resume(asked.callId);
    expect(again).toMatchObject({ status: "pending_approval" });
    const approvalId = "approval" in again ? (again.approval?.approvalId ?? "") : "";
    const question = await runtime.engine.approvals.get(approvalId);
    expect(question?.effects).toBeUndefined();
    await runtime.engine.approvals.approve(approvalId, { by: "ada" });
    const done = await runtime.engine.resume(asked.callId);
    expect(done).toMatchObject({ status: "success", isolation: { level: "LEVEL_2" } });
    expect(readFileSync(join(folder, "work", "made.txt"), "utf8")).toBe("tried\n");
  });

  it("is not put to a person when its result could not be given [R1-6.2]", async () => {
    await open();
    const nested = `printf '[%.0s' $(seq 5000); printf ']%.0s' $(seq 5000)`;
    const preview = { requireApproval: true, preview: true, onApproval: "pending" } as const;
    const answers = [
      await call("printer", { command: ["sh", "-c", nested] }),
      await call("printer", { command: ["sh", "-c", nested] }, preview),
    ];
    expect(answers.map(codeOf)).toEqual(["E3509", "E3509"]);
  });

  it("is not made for a tool that reaches hosts, which would do something else without them", async () => {
    await open("sandbox: { privateHosts: [localhost] }\n");
    const asked = await call(
      "fetcher",
      { command: ["true"] },
      { requireApproval: true, preview: true, onApproval: "pending" },
    );
    const record = await runtime.engine.approvals.get(asked.approval?.approvalId ?? "");
    expect(record).toBeDefined();
    expect(record?.effects).toBeUndefined();
  });

  it("ends, rolled back, when a dry run wrote more than it may", async () => {
    await open();
    const answer = await sh("head -c 2000000 /dev/zero > big", {
      dryRun: true,
      limits: { maxDiskBytes: 1_000_000 },
    });
    expect(codeOf(answer)).toBe("E3102");
    expect(answer.rollback).toMatchObject({ verified: true });
  });
});

describe("a script tool in a sandboxed process", () => {
  it("is somebody else there, and has its state and files through the host [L3-EXE-2]", async () => {
    await open();
    const where = await call("whereabouts", {});
    expect(where).toMatchObject({ status: "success", isolation: { level: "LEVEL_2" } });
    const { uid, home } = (where.status === "success" ? where.result : {}) as { uid: number; home: string };
    expect(uid).not.toBe(0);
    expect(home).not.toBe(process.env.HOME);
    const first = await call("notebook", { text: "hello" });
    expect(first).toMatchObject({ status: "success", result: { count: 1, read: "hello\n" } });
    expect(readFileSync(join(folder, "work", "note.txt"), "utf8")).toBe("hello\n");
  });

  it("loses state and files together when it fails [R1-4.3] [R1-7.2]", async () => {
    await open();
    const failed = await call("notebook", { text: "hello", fail: true });
    expect(codeOf(failed)).toBe("E3907");
    expect(failed.rollback).toMatchObject({ verified: true, files: { verified: true } });
    const next = await call("notebook", { text: "again" });
    expect(next).toMatchObject({ status: "success", result: { count: 1 } });
  });

  it("can be tried out and approved: state and files are committed exactly as shown", async () => {
    await open();
    const asked = await call(
      "notebook",
      { text: "hello" },
      { requireApproval: true, preview: true, onApproval: "pending" },
    );
    expect(asked.status).toBe("pending_approval");
    const approvalId = asked.approval?.approvalId ?? "";
    const record = await runtime.engine.approvals.get(approvalId);
    expect(record?.effects).toMatchObject({
      files: [{ path: "note.txt", change: "added" }],
      state: [{ kind: "put", key: "count" }],
    });
    await runtime.engine.approvals.approve(approvalId, { by: "ada" });
    const done = await runtime.engine.resume(asked.callId);
    expect(done).toMatchObject({ status: "success", result: { count: 1 } });
    expect(readFileSync(join(folder, "work", "note.txt"), "utf8")).toBe("hello\n");
    expect(await call("notebook", { text: "b" })).toMatchObject({ result: { count: 2 } });
  });
});

describe("a tool that is given a socket of the host", () => {
  it("reaches it, says so, and not in a dry run [X-26]", async () => {
    const path = join(folder, "given.sock");
    const server = createUnixServer((socket) => socket.on("error", () => socket.destroy()).end("reached"));
    await new Promise<void>((done) => server.listen({ path, readableAll: true, writableAll: true }, done));
    try {
      await open(`sandbox: { sockets: [{ tools: [she*], paths: [${path}], because: a test }] }\n`);
      const connect = ["import socket, sys", "s = socket.socket(socket.AF_UNIX)", `s.connect("${path}")`];
      const command = (code: number) => ["python3", "-c", [...connect, `sys.exit(${code})`].join("\n")];
      const reached = await call("shell", { command: command(0) });
      expect(reached).toMatchObject({ status: "success", isolation: { level: "LEVEL_2", sockets: [path] } });
      const failed = await call("shell", { command: command(3) });
      expect(failed).toMatchObject({ rollback: { unseen: ["network"] } });
      const tried = await call("shell", { command: command(0) }, { dryRun: true });
      expect(codeOf(tried)).toBe("E3108");
      expect(tried.isolation).toEqual({ level: "LEVEL_2", runner: "bubblewrap" });
    } finally {
      await new Promise((done) => server.close(done));
    }
  });
});

describe("a tool with a host and a credential", () => {
  let server: Server;
  let seen: string[];

  beforeEach(async () => {
    seen = [];
    server = createServer((request, response) => {
      seen.push(String(request.headers.authorization));
      response.end("fine");
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  });

  afterEach(async () => {
    await new Promise((resolve) => server.close(resolve));
  });

  it("reaches that host alone; the proxy adds the secret, which the process never has", async () => {
    const { port } = server.address() as AddressInfo;
    writeFileSync(join(folder, "secret"), "s3cr3t-value\n", { mode: 0o600 });
    await open(`sandbox: { privateHosts: [localhost] }
credentials:
  upstream: { host: localhost, secret: { file: secret }, plainHttp: true }
`);
    const script = [
      "import os, urllib.request as u",
      `r = u.Request('http://localhost:${port}/', headers={'Authorization': 'placeholder'})`,
      "print(u.urlopen(r).read().decode(), 's3cr3t' in str(os.environ))",
      `u.urlopen('http://127.0.0.1:${port}/')`,
    ].join("\n");
    const answer = await call("fetcher", { command: ["python3", "-c", script] });
    expect(seen).toEqual(["Bearer s3cr3t-value"]);
    expect(codeOf(answer)).toBe("E3108");
    expect(answer.violations).toMatchObject([{ type: "NETWORK", severity: "HIGH" }]);
    expect(answer.usage.networkBytesReceived).toBeGreaterThan(0);
    expect(JSON.stringify(answer)).not.toContain("s3cr3t-value");
  });
});

it.each([
  ["beside each other", ["work", "more"], "E3105"],
  ["one in the other", ["work/deep", "work"], "success"],
  ["one in the other, the outer one first", ["work", "work/deep"], "success"],
])("a function with two folders, %s, is refused unless it reaches both [D-14]", async (_, paths, code) => {
  await open();
  mkdirSync(join(folder, "work", "deep"));
  const tool = defineTool({
    id: "two",
    version: "1.0.0",
    description: "Reads.",
    sideEffects: "none",
    requiredCapabilities: ["filesystem.read"],
    permissions: {
      filesystem: paths.map((path) => ({ path, mode: "ro" as const })),
      network: [],
      credentials: [],
    },
    input: { type: "object" },
    run: () => "read",
  });
  expect(isFailure(await runtime.engine.tools.add(tool))).toBe(false);
  expect(codeOf(await call("two", {}))).toBe(code);
});

it("a tool learns its working folder and room, and shows output while it runs [FR-REG-04]", async () => {
  await open();
  const shown: string[] = [];
  const tool = defineTool({
    id: "teller",
    version: "1.0.0",
    description: "Tells.",
    sideEffects: "none",
    requiredCapabilities: ["filesystem.read"],
    permissions: { filesystem: [{ path: "work", mode: "ro" }], network: [], credentials: [] },
    limits: { maxOutputBytes: 1_000 },
    input: { type: "object" },
    run: async (_, { output, workingFolder, maxOutputBytes, availableBytes }) => {
      await output("half way\n");
      return { workingFolder, maxOutputBytes, availableBytes };
    },
  });
  await runtime.engine.tools.add(tool);
  const more = {
    availableBytes: 500,
    onOutput: (_: string, chunk: Uint8Array) => shown.push(`${Buffer.from(chunk)}`),
  };
  const room = { workingFolder: join(realpathSync(folder), "work"), maxOutputBytes: 1_000 };
  expect(await call("teller", {}, more)).toMatchObject({ result: { ...room, availableBytes: 500 } });
  expect(await call("teller", {})).toMatchObject({ result: { ...room, availableBytes: 65_536 } });
  expect(shown).toEqual(["half way\n"]);
});
