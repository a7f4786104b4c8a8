import { describe, expect, it } from "vitest";
import type { ChatCommands } from "../chat-commands.ts";
import { type Entered, parseEntered } from "./parse-entered.ts";
import { parseResult } from "./parse-result.ts";
import { answerCommand, helpLines, offeredCommands } from "./run-command.ts";

const commands: ChatCommands = {
  listTools: async () => [
    { name: "read_file", description: "Reads\na file.", sideEffects: false, state: "allowed" },
  ],
  listApprovals: async () => [],
  undo: async () => {
    throw new Error("nothing\u001b[2J there");
  },
  standingScopes: () => [],
};
const OFFERED = offeredCommands(commands);

describe("what was entered", () => {
  it.each<[string, Entered]>([
    ["hello", { kind: "say", text: "hello" }],
    ["  ", { kind: "nothing" }],
    ["//etc is a folder", { kind: "say", text: "/etc is a folder" }],
    ["/tool a b\nc", { kind: "command", name: "tool", rest: "a b\nc" }],
    ["/exit", { kind: "command", name: "quit", rest: "" }],
    ["/hlep", { kind: "unknown", name: "hlep", nearest: "help" }],
    ["/appr", { kind: "unknown", name: "appr", nearest: "approvals" }],
    ["/zzzzzz", { kind: "unknown", name: "zzzzzz" }],
    ["/constructor", { kind: "unknown", name: "constructor" }],
    ["/mode auto", { kind: "unknown", name: "mode", nearest: "tool" }],
  ])("%j", (line, entered) => {
    const { nearest: _, ...rest } = { nearest: undefined, ...entered };
    expect(parseEntered(line, OFFERED)).toMatchObject(line.startsWith("/mode") ? rest : entered);
  });
});

describe("a result for a pending call", () => {
  const pending = [{ id: "call_1" }, { id: "a\u001b[31mb" }];
  it.each([
    ["call_1 all of it\nand more", { id: "call_1", content: "all of it\nand more", isError: false }],
    ["error call_1 no such file", { id: "call_1", content: "no such file", isError: true }],
    [
      "ab shown without its colour",
      { id: "a\u001b[31mb", content: "shown without its colour", isError: false },
    ],
    ["2 by number", { id: "a\u001b[31mb", content: "by number", isError: false }],
    ["call_1", { problem: "Enter /tool <id> <result>, or /tool error <id> <message>." }],
    ["call_7 x", { problem: "No pending call has the id call_7." }],
  ])("%j [FR-TUI-04]", (rest, given) => {
    expect(parseResult(rest, pending)).toEqual(given);
  });

  it("is not wanted when nothing waits [FR-TUI-04]", () => {
    expect(parseResult("call_1 x", [])).toEqual({ problem: "No call waits for a result." });
  });
});

describe("commands", () => {
  it("answer with lines, and say so when something did not work", async () => {
    const answer = (name: "tools" | "approvals" | "undo") =>
      answerCommand({ kind: "command", name, rest: "" }, commands);
    expect(await answer("tools")).toEqual({
      kind: "block",
      title: "/tools",
      lines: ["read_file  allowed  Reads a file."],
    });
    expect(await answer("approvals")).toMatchObject({ lines: [expect.stringContaining("Nothing waits")] });
    expect(await answer("undo")).toMatchObject({ level: "error", text: "/undo did not work: nothing there" });
  });

  it("are all in the help", () => {
    const help = helpLines(OFFERED).join("\n");
    for (const name of OFFERED) expect(help).toContain(`/${name}`);
    expect(help).not.toContain("/mode");
  });
});
