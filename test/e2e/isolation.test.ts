import { once } from "node:events";
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { Terminal } from "../../packages/server/src/cli/fixtures/run-line.ts";
import { Shell } from "./shell.ts";

const EDITOR = fileURLToPath(new URL("../../examples/editor", import.meta.url));
const NOTE = "The colour red.\nThe colour blue.\n";
const CHANGED = NOTE.replaceAll("colour", "color");

/** The editor example: every edit is tried out and shown before it is kept. */
function editor(): Shell {
  const shell = new Shell(`
tools: [${EDITOR}/editor.ts]
grants:
  - { id: agents-may-edit-notes, tools: [editor] }
policy: { files: [policy.yaml] }
`);
  cpSync(`${EDITOR}/policy.yaml`, shell.path("policy.yaml"));
  mkdirSync(shell.path("notes"));
  writeFileSync(shell.path("notes/colours.txt"), NOTE);
  return shell;
}

const edit = (...more: string[]) => [
  "call",
  "editor",
  "--operation",
  "replace",
  '{"file":"colours.txt","from":"colour","to":"color"}',
  ...more,
];

interface Answer {
  status: string;
  invocation_id: string;
  approval: { approvalId: string };
  isolation: { level: string; runner: string };
  effects: { digest: string; files: { path: string; change: string }[] };
  receipt: { effectsHash?: string };
}

describe("a command tool at the command line", () => {
  it("runs fully isolated, and the answer says so [L3-EXE-2]", async () => {
    using shell = editor();
    const answer = await shell.json<Answer>([
      "call",
      "editor",
      "--operation",
      "count",
      '{"file":"colours.txt"}',
    ]);
    expect(answer).toMatchObject({
      status: "success",
      isolation: { level: "LEVEL_2", runner: "bubblewrap" },
      result: { exitCode: 0, stdout: " 2  6 33 colours.txt\n" },
    });
  });

  it("is tried out, shown, approved and committed exactly so, then undone [R1-7.2]", async () => {
    using shell = editor();
    const pending = await shell.json<Answer>(edit());
    expect(pending).toMatchObject({ status: "pending_approval", exitCode: 4 });
    expect(readFileSync(shell.path("notes/colours.txt"), "utf8")).toBe(NOTE);
    const shown = await shell.run(["approvals", "show", pending.approval.approvalId]);
    expect(shown.stdout).toContain("-The colour red.");
    expect(shown.stdout).toContain("+The color red.");
    const committed = await shell.run(["approvals", "approve", pending.approval.approvalId, "--run"]);
    expect(committed.code).toBe(0);
    expect(readFileSync(shell.path("notes/colours.txt"), "utf8")).toBe(CHANGED);
    const call = await shell.json<{ outcome: Answer }>(["calls", "show", pending.invocation_id]);
    expect(call.outcome.effects.files).toMatchObject([{ path: "colours.txt", change: "edited" }]);
    expect(call.outcome.isolation.level).toBe("LEVEL_2");
    const undone = await shell.json(["undo", pending.invocation_id]);
    expect(undone).toMatchObject({ verified: true, exitCode: 0 });
    expect(readFileSync(shell.path("notes/colours.txt"), "utf8")).toBe(NOTE);
    expect(await shell.json(["undo", pending.invocation_id])).toMatchObject({ error: { code: "E3111" } });
    expect((await shell.run(["audit", "verify"])).code).toBe(0);
  });

  it("commits nothing when somebody else changed the file after the try-out", async () => {
    using shell = editor();
    const pending = await shell.json<Answer>(edit());
    writeFileSync(shell.path("notes/colours.txt"), "another colour\n");
    const refused = await shell.json(["approvals", "approve", pending.approval.approvalId, "--run"]);
    expect(JSON.stringify(refused)).toContain("E3110");
    expect(readFileSync(shell.path("notes/colours.txt"), "utf8")).toBe("another colour\n");
  });

  it("drops everything on a no", async () => {
    using shell = editor();
    const pending = await shell.json<Answer>(edit());
    await shell.run(["approvals", "deny", pending.approval.approvalId, "--reason", "not now"]);
    expect(readFileSync(shell.path("notes/colours.txt"), "utf8")).toBe(NOTE);
    const answer = await shell.json(["calls", "resume", pending.invocation_id]);
    expect(answer).toMatchObject({ status: "permission_denied" });
  });

  it("cannot have its shown effects edited, only answered", async () => {
    using shell = editor();
    const pending = await shell.json<Answer>(edit());
    const input = '{"file":"colours.txt","from":"red","to":"green"}';
    const refused = await shell.json(["approvals", "edit", pending.approval.approvalId, input]);
    expect(refused).toMatchObject({ error: { code: "E3222" } });
  });
});

/** What `run --json` prints; the flag goes before the command. */
async function ran(
  shell: Shell,
  flags: string[],
  ...command: string[]
): Promise<Answer & { exitCode: number | null }> {
  const { stdout, code } = await shell.run(["run", "--json", ...flags, "--", ...command]);
  return { ...(JSON.parse(stdout) as Answer), exitCode: code };
}

describe("sallyport run", () => {
  it("drops what a command changed unless told to keep it, and shows it", async () => {
    using shell = new Shell("{}\n");
    writeFileSync(shell.path("kept.txt"), "one\n");
    const tried = await shell.run(["run", "--diff", "--", "sh", "-c", "echo two >> kept.txt; echo hello"]);
    expect(tried).toMatchObject({ code: 0, stdout: "hello\n" });
    expect(tried.stderr).toContain("+two");
    expect(tried.stderr).toContain("Nothing was kept");
    expect(readFileSync(shell.path("kept.txt"), "utf8")).toBe("one\n");
    const kept = await ran(shell, ["--commit"], "sh", "-c", "echo two >> kept.txt");
    expect(kept).toMatchObject({ status: "success", exitCode: 0 });
    expect(kept.receipt.effectsHash).toBe(kept.effects.digest);
    expect(readFileSync(shell.path("kept.txt"), "utf8")).toBe("one\ntwo\n");
    const undone = await shell.json(["undo", kept.invocation_id]);
    expect(undone).toMatchObject({ verified: true });
    expect(readFileSync(shell.path("kept.txt"), "utf8")).toBe("one\n");
  });

  it("rolls back what a command changed before it failed, and passes its exit code on [R1-4.3] [R1-7.2]", async () => {
    using shell = new Shell("{}\n");
    writeFileSync(shell.path("kept.txt"), "one\n");
    const failed = await ran(shell, ["--commit"], "sh", "-c", "rm kept.txt; exit 7");
    expect(failed).toMatchObject({
      error: { details: { code: "E3108" } },
      rollback: { verified: true, files: { verified: true } },
      exitCode: 7,
    });
    expect(readFileSync(shell.path("kept.txt"), "utf8")).toBe("one\n");
  });

  it("tells the person what the command said last, and which host was refused", async () => {
    using shell = new Shell("tools: [say.mjs]\ngrants: [{ id: g, tools: [say] }]\n");
    const input = JSON.stringify({
      type: "object",
      properties: {},
      required: [],
      additionalProperties: false,
    });
    writeFileSync(
      shell.path("say.mjs"),
      `import { defineCommand } from ${JSON.stringify(import.meta.resolve("@sallyport/engine/tool"))};
export const say = defineCommand({ id: "say", version: "1.0.0", description: "Fails.", input: ${input},
  command: ["sh", "-c", "echo first >&2; echo 'no luck' >&2; exit 3"] });`,
    );
    const said = await shell.run(["call", "say", "{}"]);
    expect(said.stderr).toMatch(/E3108 say ended with exit code 3\.\n {2}\| first\n {2}\| no luck\n/);
    const ask = "import urllib.request as u; u.urlopen('https://localhost:9/')";
    const allowed = ["--allow-host", "localhost:9"];
    const refused = await shell.run(["run", "--commit", ...allowed, "--", "python3", "-c", ask]);
    const why = "localhost:9 was refused: localhost leads to";
    expect(refused.stderr).toContain(`! ${why}`);
    expect(refused.stderr).toMatch(/E3108 sandbox\.run ended with exit code 1\.\n.*→ Read the exit code/);
    const [call] = await shell.json<{ callId: string }[]>(["calls", "list", "--tool", "sandbox.run"]);
    const shown = await shell.run(["calls", "show", call?.callId ?? ""]);
    expect(shown.stdout).toMatch(/^call \S+ of agent cli of local.*\n {2}input {6}\{"command":\["python3"/);
    expect(shown.stdout).toContain(why);
    const piped = await shell.run(["run", ...allowed, "--", "true"]);
    expect(piped).toMatchObject({ code: 2, stderr: expect.stringContaining("Add --commit, or --dry-run") });
  });

  it.each([
    ["\u0003", 6, /E3906[\s\S]*left the question/, "Ctrl-C"],
    ["n\r", 3, /\nNothing was kept\.\n/, "a no"],
  ])("keeps nothing by %j at the question, and says so: %i", async (keys, code, words) => {
    using shell = new Shell("{}\n");
    const terminal = new Terminal(shell.folder);
    const ended = terminal.run(["run", "--", "touch", "new.txt"]);
    await terminal.shows("Keep these changes?");
    terminal.type(keys);
    expect(await ended).toBe(code);
    expect(terminal.err).toMatch(words);
    expect(terminal.err).not.toContain("the person's reason");
    expect(existsSync(shell.path("new.txt"))).toBe(false);
  });

  it("works in a folder of its own while a server has the state folder, which stays hidden", async () => {
    using shell = new Shell("{}\n");
    const server = shell.serve(["--port", "0", "--json"]);
    await once(server.stdout, "data");
    writeFileSync(shell.path("kept.txt"), "one\n");
    const edit = "ls .sallyport; cat .sallyport/keys/*; echo two > kept.txt";
    const { code, stdout, stderr } = await shell.run(["run", "--commit", "--", "sh", "-c", edit]);
    expect([code, stdout]).toEqual([0, ""]);
    expect(readFileSync(shell.path("kept.txt"), "utf8")).toBe("two\n");
    const undo = /To take it back: \S+ (undo .* --state-dir \S+own)\n/.exec(stderr)?.[1] ?? "";
    expect(await shell.run(undo.split(" "))).toMatchObject({ code: 0 });
    expect(readFileSync(shell.path("kept.txt"), "utf8")).toBe("one\n");
  });

  it("shows the command neither the state folder nor the configuration, and no secrets of ours", async () => {
    using shell = new Shell("{}\n");
    const look = "ls -A; cat sallyport.yaml; ls -A .sallyport; env";
    const { stdout, code } = await shell.run(["run", "--dry-run", "--", "sh", "-c", look]);
    expect(code).not.toBe(null);
    expect(stdout).not.toContain("sallyport.db");
    expect(stdout).not.toMatch(/^(HOME=\/root|NODE_|npm_)/m);
    const elsewhere = ["--state-dir", shell.path("other")];
    const beside = await shell.run(["run", ...elsewhere, "--dry-run", "--", "ls", "-A", ".sallyport"]);
    expect(beside).toMatchObject({ code: 0, stdout: "" });
  });

  it("has no network, stops in time, and says how it is used", async () => {
    using shell = new Shell("{}\n");
    const net = await shell.run([
      "run",
      "--",
      "python3",
      "-c",
      "import socket; socket.create_connection(('127.0.0.1', 9), 1)",
    ]);
    expect(net.code).not.toBe(0);
    const late = await ran(shell, ["--time", "1s"], "sleep", "30");
    expect(late).toMatchObject({ error: { details: { code: "E3103" } }, exitCode: 5 });
    expect((await shell.run(["run", "--commit", "--dry-run", "--", "true"])).code).toBe(2);
    expect((await shell.run(["run", "--ro", "nowhere", "--", "true"])).stderr).toContain(
      "There is no nowhere",
    );
    expect((await shell.run(["run", "--help"])).stdout).toContain("sallyport undo CALL");
    expect(existsSync(shell.path("nowhere"))).toBe(false);
  });
});
