import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createEngine, createMemoryStore, defineTool, type Engine, grantAuthority } from "@sallyport/engine";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type OpenDesk, openDesk } from "./open-desk.ts";
import { reachDesk } from "./reach-desk.ts";

const any = { $schema: "https://json-schema.org/draft/2020-12/schema", type: "object" };
const started = Promise.withResolvers<void>();
const tools = [
  defineTool({
    id: "echo",
    version: "1.0.0",
    description: "Says it again.",
    sideEffects: "none",
    input: any,
    run: (input) => input,
  }),
  defineTool({
    id: "patient",
    version: "1.0.0",
    description: "Waits until it is told to stop.",
    sideEffects: "none",
    input: any,
    run: (_input, { signal }) =>
      new Promise((_resolve, reject) => {
        started.resolve();
        signal.addEventListener("abort", () => reject(new Error("stopped")));
      }),
  }),
];
const all = { tenants: ["*"], agents: ["*"], operations: ["*"], capabilities: [] };
const WAIT = { timeout: 20_000, interval: 5 };
const caller = { tenant: "acme", agent: "a" };

let folder: string;
let engine: Engine;
let opened: OpenDesk | undefined;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "sallyport-desk-"));
  const authority = grantAuthority([{ id: "all", tools: ["*"], ...all }]);
  engine = await createEngine({ store: createMemoryStore(), authority });
  for (const tool of tools) await engine.tools.add(tool);
  opened = await openDesk(engine, folder);
});

afterEach(async () => {
  await opened?.close();
  await engine.close();
  rmSync(folder, { recursive: true, force: true });
});

const socketPath = () => join(folder, "run", "desk.sock");

async function reached() {
  const desk = await reachDesk(folder);
  if (!desk) throw new Error("nobody is at the desk");
  return desk;
}

/** What comes back for these bytes until the line is cut; the greeting left out. */
function saying(...chunks: (string | Buffer)[]): Promise<string[]> {
  return new Promise((resolve) => {
    let heard = "";
    const socket = connect(socketPath());
    socket.on("data", (chunk: Buffer) => {
      heard += chunk.toString();
      if (heard.trimEnd().split("\n").length > 1) socket.end();
    });
    // Who hangs up on a speaker may reset the line; what came before counts.
    socket.on("error", () => socket.destroy());
    socket.on("close", () => resolve(heard.trimEnd().split("\n").slice(1)));
    for (const chunk of chunks) socket.write(chunk);
  });
}

describe("the desk of a server that is open elsewhere", () => {
  it("makes calls and gives back what the engine gives, failures too", async () => {
    const desk = await reached();
    const input = { text: "grüße\n\u2028", list: [1, null] };
    const answers = await Promise.all([
      desk.call({ tool: "echo", input, caller }),
      desk.call({ tool: "nothing", input: {}, caller }),
      desk.approvals.get("unknown"),
      desk.tools.quarantine("echo", "9.9.9", { by: "ada", reason: "why not" }),
    ]);
    expect(answers).toMatchObject([
      { status: "success", result: input },
      { status: "error", error: { code: "E3001" } },
      undefined,
      { code: "E3002" },
    ]);
    desk.close();
  });

  it("interrupts a call there when it is interrupted here", async () => {
    const desk = await reached();
    const interrupt = new AbortController();
    const answer = desk.call({ tool: "patient", input: {}, caller, signal: interrupt.signal });
    await started.promise;
    interrupt.abort();
    expect(await answer).toMatchObject({ status: "cancelled", error: { code: "E3906" } });
    desk.close();
  });

  it("ends a call whose asker has gone", async () => {
    const desk = await reached();
    const callId = "01890000-0000-7000-8000-000000000001";
    const lost = desk.call({ tool: "patient", input: {}, caller, callId }).catch((error: Error) => error);
    await vi.waitFor(() => expect(engine.load().running).toBe(1), WAIT);
    desk.close();
    expect(String(await lost)).toContain("E3945");
    await vi.waitFor(() => expect(engine.load().running).toBe(0), WAIT);
    expect(await engine.standing(callId)).toMatchObject({ status: "cancelled" });
  });

  it("says when the server goes away in the middle of an answer [E3945]", async () => {
    const desk = await reached();
    const lost = desk.call({ tool: "patient", input: {}, caller }).catch((error: Error) => error);
    await opened?.close();
    expect(String(await lost)).toContain("hung up before it had answered");
    expect(String(await desk.undo("x", { by: "a" }).catch((error: Error) => error))).toContain("E3945");
  });

  it("is for its owner only, and takes the place of a socket that a killed process left", async () => {
    expect(statSync(socketPath()).mode & 0o777).toBe(0o600);
    expect(statSync(join(folder, "run")).mode & 0o077).toBe(0);
    await opened?.close();
    writeFileSync(socketPath(), "");
    expect(await reachDesk(folder)).toBeUndefined();
    opened = await openDesk(engine, folder);
    (await reached()).close();
  });

  it("is nowhere when nobody has opened it", async () => {
    await opened?.close();
    expect(await reachDesk(folder)).toBeUndefined();
  });

  it.runIf(process.platform === "linux")(
    "is there also where its path is too long for a socket",
    async () => {
      const long = join(folder, "x".repeat(100));
      expect(await reachDesk(long)).toBeUndefined();
      const desk = await openDesk(engine, long);
      const there = await reachDesk(long);
      expect(await there?.call({ tool: "echo", input: {}, caller })).toMatchObject({ status: "success" });
      there?.close();
      await desk?.close();
      expect(await reachDesk(long)).toBeUndefined();
    },
  );

  it.each([
    ["no JSON", "hello\n"],
    ["no object", "[1]\n"],
    ["no question", '{"hello":1}\n'],
    ["a question without what it is given", '{"ask":1,"method":"call"}\n'],
    ["bytes that are no text", Buffer.from([0xff, 0xfe, 0x0a])],
  ])("hangs up on %s, and serves the next", async (_what, bytes) => {
    expect(await saying(bytes)).toEqual([]);
    const desk = await reached();
    expect(await desk.call({ tool: "echo", input: {}, caller })).toMatchObject({ status: "success" });
    desk.close();
  });

  it.each(["tools.register", "constructor", "approvals.constructor", "close", "__proto__", ""])(
    "cannot be asked for %j",
    async (method) => {
      const [answer = ""] = await saying(`${JSON.stringify({ ask: 1, method, given: [] })}\n`);
      expect(JSON.parse(answer)).toMatchObject({ answer: 1, refused: { code: "E3945" } });
    },
  );

  it("answers a question that came in pieces, and one that makes no sense to the method", async () => {
    const whole = Buffer.from('{"ask":7,"method":"call","given":[{"tool":"ü"}]}\n');
    const [answer = ""] = await saying(whole.subarray(0, 44), whole.subarray(44));
    expect(JSON.parse(answer)).toMatchObject({ answer: 7, value: { status: "error" } });
  });

  it("refuses to talk to another version of itself", async () => {
    await opened?.close();
    const hungUp = Promise.withResolvers<void>();
    const other = createServer((socket) => {
      socket.write('{"sallyport":"9.0.0","desk":99}\n');
      socket.resume().once("close", () => hungUp.resolve());
    });
    await new Promise<void>((resolve) => other.listen(socketPath(), resolve));
    await expect(reachDesk(folder)).rejects.toThrow("held by Sallyport 9.0.0");
    // A line that stays open would keep the command from ending.
    await hungUp.promise;
    await new Promise((resolve) => other.close(resolve));
  });
});
