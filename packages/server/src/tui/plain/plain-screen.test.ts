import { PassThrough, Writable } from "node:stream";
import { describe, expect, it } from "vitest";
import { type Script, ScriptedDoor } from "../fixtures/scripted-door.ts";
import { SCRIPTS } from "../fixtures/scripts.ts";
import { printEvents } from "../print/print-events.ts";
import { runScreen } from "../run-screen.ts";
import { ScreenPerson } from "../screen-person.ts";
import { standingScopesFor } from "../standing-scopes.ts";

function streams(isTTY: boolean) {
  let text = "";
  const stdout = new Writable({
    write(chunk, _, done) {
      text += chunk;
      done();
    },
  });
  return { stdin: Object.assign(new PassThrough(), { isTTY }), stdout, stderr: stdout, written: () => text };
}

async function talked(
  script: Script,
  lines: readonly string[],
  isTTY = true,
): Promise<{ code: number; text: string }> {
  const io = streams(isTTY);
  const person = new ScreenPerson();
  const running = runScreen({
    door: new ScriptedDoor(script, person),
    person,
    turns: [],
    info: () => ({ model: "m", mode: "ask", folder: "/f" }),
    commands: {
      listTools: async () => [],
      listApprovals: async () => [],
      undo: async () => [],
      standingScopes: standingScopesFor("user"),
    },
    io,
    options: { plain: true, colour: false, unicode: false },
  });
  for (const line of lines) {
    const [wanted, answer] = line.split(" => ");
    await expect.poll(() => io.written(), { timeout: 10_000 }).toMatch(new RegExp(`${wanted}[^\\n]*$`));
    io.stdin.write(`${answer}\n`);
  }
  io.stdin.end();
  return { code: await running, text: io.written() };
}

describe("plain mode", () => {
  it("asks about each call and tells what became of it [FR-TUI-01] [FR-TUI-02]", async () => {
    const { text, code } = await talked(SCRIPTS.approval, [
      "You: => go",
      "Approve apply_patch .medium risk.. => y",
      "Approve run_command .high risk.. => d",
      "Why not. => no tests",
      "You: => /quit",
    ]);
    expect(text).toContain('Decision: each 0={"kind":"approve"} 1={"kind":"deny","reason":"no tests"}');
    expect(text).toContain("WARNING: HIGH RISK");
    expect(code).toBe(0);
  });

  it("always allows by a number [FR-TUI-01]", async () => {
    const { text } = await talked(SCRIPTS.approval, [
      "You: => go",
      "Approve => w",
      "number => 1",
      "Approve run => a",
      "You: => /quit",
    ]);
    expect(text).toContain(
      '0={"kind":"approve","always":{"arguments":"exact","agent":"this","tier":"user","session":"this"}}',
    );
  });

  it("denies where nobody sits at a terminal [FR-TUI-01]", async () => {
    const { text } = await talked(SCRIPTS.approval, ["You: => go", "You: => y"], false);
    expect(text).toContain("Decision: deny_all -");
  });

  it("has no control character in what it writes [NFR-SEC-05]", async () => {
    const { text } = await talked(SCRIPTS.echo, ["You: => long", "You: => fail", "You: => /help"]);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this is about.
    expect(text).not.toMatch(/[\0-\x09\x0b-\x1f]/);
    expect(text).toContain("Error: E3959 The model is gone.");
  });

  it("throws what is a defect", async () => {
    await expect(talked(SCRIPTS.echo, ["You: => break"])).rejects.toThrow("a defect");
  });
});

describe("print mode", () => {
  it("writes events as lines of JSON, the end last, and asks nobody", async () => {
    const io = streams(false);
    const code = await printEvents({
      door: new ScriptedDoor(SCRIPTS.approval, new ScreenPerson()),
      text: "go",
      io,
    });
    const lines = io
      .written()
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(lines.map(({ kind }) => kind)).toContain("resolved");
    expect(lines.at(-1)).toEqual({
      kind: "end",
      conversation: "conversation-1",
      end: { kind: "done", text: "" },
    });
    expect(code).toBe(0);
  });

  it("tells by its exit code how the turn ended", async () => {
    const codeOf = (script: Script, text: string) =>
      printEvents({ door: new ScriptedDoor(script, new ScreenPerson()), text, io: streams(false) });
    expect(await codeOf(SCRIPTS.echo, "fail")).toBe(1);
    expect(await codeOf(SCRIPTS.results, "go")).toBe(4);
  });
});
