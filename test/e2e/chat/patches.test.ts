import { describe, expect, it } from "vitest";
import { call, replaceLine } from "./fixtures/calls.ts";
import { ChatRoom } from "./fixtures/chat-room.ts";

const auto = { loop: { approval: { mode: "auto" }, max_tool_iterations_per_user_turn: 20 } };

describe("patches of a model", () => {
  it("change what was read, and nothing that is not as the model knows it [FR-TOOL-PATCH-01] [FR-TOOL-PATCH-02]", async () => {
    const patch = (path: string, before: string, after: string) =>
      call("apply_patch", { patch: replaceLine(path, before, after) });
    await using room: ChatRoom = await ChatRoom.open(
      [
        { calls: [call("read_file", { path: "a.txt" }), patch("a.txt", "two", "TWO")] },
        { calls: [patch("b.txt", "one", "never")] },
        { calls: [call("read_file", { path: "c.txt" })] },
        () => {
          room.write("c.txt", "by hand\n");
          return { calls: [patch("c.txt", "one", "stale")] };
        },
        { calls: [patch("a.txt", "TWO\ntree", "x")] },
        {
          calls: [
            call("apply_patch", { patch: "LP1\nF a.txt\nR\none\n.\n" }),
            call("read_file", { path: "a.txt", start_line: 3, end_line: 1 }),
          ],
        },
        { calls: [patch("../out.txt", "a", "b")] },
        { calls: [call("apply_patch", { patch: "LP1\nF a.txt\nT\nfour\n.\nF b.txt\nT\nx\n.\nEND\n" })] },
        { text: "So much for that." },
      ],
      { ...auto, files: { "a.txt": "one\ntwo\nthree\n", "b.txt": "one\n", "c.txt": "one\n" } },
    );
    const { code, end } = await room.print("patch");
    expect({ code, end }).toMatchObject({ code: 0, end: { kind: "done" } });

    const told = room.told(-1);
    expect(told.call_2).toBe("modified: a.txt");
    expect(told.call_3).toMatch(/^Stale file b.txt: File was not read before patching/);
    expect(told.call_5).toMatch(/^Stale file c.txt: File content changed since last read/);
    expect(told.call_6).toMatch(
      /^Patch failed for a.txt: .*match not found: nearest at file line 2, .*line 3 .*has "tree" but .*"three"/,
    );
    expect(told.call_7).toMatch(/^Bad args: /);
    expect(told.call_8).toMatch(/^Bad args: start_line 3 is after end_line 1/);
    expect(told.call_9).toMatch(/\.\./);
    expect(told.call_10).toMatch(/^Stale file b.txt/);
    expect(room.read("a.txt")).toBe("one\nTWO\nthree\n");
    expect(room.read("b.txt")).toBe("one\n");
    expect(room.read("c.txt")).toBe("by hand\n");
  });
});

describe("what nobody is there to be asked about", () => {
  it("does not run, and commands are denied by default [NFR-SEC-06] [FR-APR-04]", async () => {
    await using room = await ChatRoom.open([
      {
        calls: [
          call("write_file", { path: "w.txt", content: "x" }),
          call("run_command", { command: "echo ran > ran.txt" }),
          call("no_such_tool", {}),
          call("read_file", { path: ".sallyport/sallyport.db" }),
          call("list_directory", { path: ".sallyport/keys" }),
        ],
      },
      { text: "Never mind." },
    ]);
    const { code } = await room.print("try");
    expect(code).toBe(0);
    const told = room.told(1);
    expect(told.call_1).toMatch(/needs approval .* nobody is to be asked/);
    expect(told.call_2).toBe("Tool 'run_command' is on the denylist");
    expect(told.call_3).toMatch(/^Unknown tool: no_such_tool/);
    expect(told.call_4).toMatch(
      /^The path "\.sallyport\/sallyport\.db" is denied by the pattern "\.sallyport\/\*\*"/,
    );
    expect(told.call_5).toMatch(/^The path "\.sallyport\/keys" is denied by the pattern "\.sallyport\/\*\*"/);
    expect([room.has("w.txt"), room.has("ran.txt")]).toEqual([false, false]);
  });
});
