import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openSqliteStore } from "@sallyport/adapters/sqlite";
import type { Engine, EngineOptions } from "@sallyport/engine";
import type { Store } from "@sallyport/engine/ports";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { openDesk } from "../desk/index.ts";
import { fixtureDoor } from "../http/routes/fixtures/door.ts";
import { gatedTool } from "../http/routes/fixtures/gated-tool.ts";
import { runLine, Terminal } from "./fixtures/run-line.ts";

const WAIT = { timeout: 20_000, interval: 10 };
const caller = { tenant: "local", agent: "cli" };
/** On record once it has ended, because it changes nothing. */
const reading = { ...gatedTool(), id: "reading" };
/** On record from its beginning. */
const writing = { ...gatedTool(), id: "writing", manifest: { sideEffects: "external" } };
/** What a server has: the store of the state folder, an engine that goes on with approved calls, and a socket. */
async function serve(options: Partial<EngineOptions> = {}) {
  const cwd = mkdtempSync(join(tmpdir(), "sallyport-line-"));
  const folder = join(cwd, ".sallyport");
  const store = await openSqliteStore({ folder });
  const tools = [{ id: "echo", manifest: { sideEffects: "external" } }, reading, writing];
  const { engine } = await fixtureDoor(tools, { engine: { store, ...options } });
  const desk = await openDesk(engine, folder);
  const close = async () => {
    await desk?.close();
    await engine.close();
    await store.close();
    rmSync(cwd, { recursive: true, force: true });
  };
  return { cwd, store, engine, close, [Symbol.asyncDispose]: close };
}

let cwd: string;
let store: Store;
let engine: Engine;
let close: () => Promise<void>;

beforeAll(async () => {
  ({ cwd, store, engine, close } = await serve({ admission: { perTool: 1 } }));
});
afterAll(() => close());

describe("calls list", () => {
  it("finds open calls by their status, and says when nothing matches", async () => {
    const call = (tool: string, callId: string) => engine.call({ tool, callId, input: {}, caller });
    const ends = [call("reading", "c-reading"), call("writing", "c-writing"), call("echo", "c-echo")];
    await Promise.all([reading.begun, writing.begun, ends[2]]);
    await engine.accept({ tool: "writing", callId: "c-queued", input: {}, caller });
    await engine.call({
      tool: "echo",
      callId: "c-asked",
      input: {},
      caller,
      requireApproval: true,
      onApproval: "pending",
    });
    const listed = async (...narrowed: string[]) => {
      const { out } = await runLine(cwd, ["calls", "list", "--json", ...narrowed]);
      return JSON.parse(out).map(({ callId }: { callId: string }) => callId);
    };
    expect(await listed("--status", "running")).toEqual(["c-reading", "c-writing"]);
    expect(await listed("--status", "running", "--tool", "writing")).toEqual(["c-writing"]);
    expect(await listed("--status", "pending")).toEqual(["c-queued"]);
    expect(await listed("--status", "pending_approval")).toEqual(["c-asked"]);
    expect(await listed("--status", "success")).toEqual(["c-echo"]);
    expect(await listed("--status", "running", "--phase", "waiting")).toEqual([]);
    expect((await listed()).toSorted()).toEqual(["c-asked", "c-echo", "c-queued", "c-reading", "c-writing"]);
    expect((await runLine(cwd, ["calls", "list", "--status", "timeout"])).out).toBe("No call matches.\n");
    expect((await runLine(cwd, ["calls", "list"])).out).toMatch(/^c-reading .* executing$/m);
    reading.finish();
    writing.finish();
    await Promise.all(ends);
    await engine.cancelCall("c-asked", { reason: "seen" });
  });
});

/** A call of `echo` that waits for approval, made as a server makes it for a client, or as the command line does. */
async function asked(more: { unattended?: boolean } = {}) {
  const request = {
    tool: "echo",
    input: { n: 1 },
    caller,
    requireApproval: true,
    onApproval: "pending",
  } as const;
  const { callId, approval, ...answer } = await engine.call({ ...request, ...more });
  const advice = "error" in answer ? answer.error.advice : "";
  return { callId, approvalId: approval?.approvalId ?? "", advice };
}

describe("approvals approve", () => {
  it("says who runs the call: the server by itself, or whoever asks for it again", async () => {
    const left = await asked({ unattended: true });
    expect(left.advice).toMatch(/the server runs the call by itself \(`sallyport calls show/);
    const { out } = await runLine(cwd, ["approvals", "approve", left.approvalId]);
    expect(out).toContain(`The server runs it now; what comes of it: sallyport calls show ${left.callId}`);
    await vi.waitFor(
      async () => expect(await store.calls.get(left.callId)).toMatchObject({ phase: "closed" }),
      WAIT,
    );
    const waits = await asked();
    expect(waits.advice).toMatch(/then ask for call \S+ again \(`sallyport calls resume/);
    const told = await runLine(cwd, ["approvals", "approve", waits.approvalId]);
    expect(told.out).toContain(
      `A command that waits for this answer runs it now. If none does: sallyport calls resume ${waits.callId}`,
    );
    expect(await store.calls.get(waits.callId)).toMatchObject({ phase: "waiting" });
  });

  it("gives the answer of the server's own run with --run, every time", async () => {
    for (let round = 0; round < 10; round += 1) {
      const { approvalId } = await asked({ unattended: round % 2 === 0 });
      const { code, out, err } = await runLine(cwd, ["approvals", "approve", approvalId, "--run"]);
      expect([code, JSON.parse(out), err]).toEqual([0, { n: 1 }, expect.stringContaining("success")]);
    }
  });
});

describe("a call that waits for a person", () => {
  const WAITING = ["call", "echo", '{"n":1}', "--require-approval", "--on-approval", "wait"];
  const question = async (asking = engine) => {
    const [record] = await asking.approvals.list({ states: ["pending"], limit: 1 });
    expect(record).toBeDefined();
    return record?.approvalId ?? "";
  };

  it("shows arguments that somebody changed before it runs with them", async () => {
    const ran = runLine(cwd, WAITING);
    const approvalId = await vi.waitFor(() => question(), WAIT);
    await engine.approvals.edit(approvalId, { by: "ada", input: { n: 2 } });
    const { code, out, err } = await ran;
    expect([code, JSON.parse(out)]).toEqual([0, { n: 2 }]);
    expect(err).toMatch(
      /The arguments were changed. This runs:.*arguments {2}\{"n":2\} \(changed by ada\).*success/s,
    );
  });

  it.each([
    ["n", "Why not?", "Ctrl-D"],
    ["n", "Why not?", "end"],
    ["e", "The new arguments", "end"],
  ])(
    "is left to somebody else at the end of the input: after %s, at %s, by %s",
    async (choice, prompt, by) => {
      const terminal = new Terminal(cwd);
      const code = terminal.run(WAITING);
      await terminal.shows("[l]eave it pending");
      terminal.type(`${choice}\r`);
      await terminal.shows(prompt);
      if (by === "end") terminal.end();
      else terminal.type("\u0004");
      await terminal.shows("Left pending.");
      await engine.approvals.approve(await question(), { by: "ada" });
      expect(await code).toBe(0);
    },
  );

  it("is shown again at the terminal when somebody else changed it, and a yes is to what was seen", async () => {
    await using two = await serve({ approvals: { quorum: 2 } });
    const terminal = new Terminal(two.cwd);
    const code = terminal.run(WAITING);
    await terminal.shows("[l]eave it pending");
    await two.engine.approvals.edit(await question(two.engine), { by: "ada", input: { n: 2 } });
    terminal.type("y\r");
    await terminal.shows("(changed by ada)");
    terminal.type("y\r");
    expect(await code).toBe(0);
    expect(JSON.parse(terminal.out)).toEqual({ n: 2 });
  });
});
