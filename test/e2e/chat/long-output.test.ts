import { describe, expect, it } from "vitest";
import type { ChatRequest } from "../../fixtures/scripted-model/index.ts";
import { hasTmux } from "../../fixtures/tmux-terminal/index.ts";
import { call } from "./fixtures/calls.ts";
import { ChatRoom } from "./fixtures/chat-room.ts";

const LINES = 750_000;
const OUTPUT_BYTES = 102_400;

function kept(request: ChatRequest): string {
  const last = String(request.messages.at(-1)?.content);
  return /read_output, id "([0-9a-f]+)"/.exec(last)?.[1] ?? "nothing";
}

describe("output that is too long for a model", () => {
  it.runIf(hasTmux())(
    "of a command is shown by its head and tail, and read on with read_output [FR-OUT-04] [FR-TUI-03]",
    async () => {
      await using room = await ChatRoom.open(
        [
          { calls: [call("run_command", { command: `seq 1 ${LINES}` })] },
          (request) => ({
            calls: [call("read_output", { id: kept(request), start_line: 400_000, end_line: 400_002 })],
          }),
          { text: "Counted." },
        ],
        { loop: { approval: { denylist: [] } } },
      );
      const terminal = await room.terminal();
      await terminal.enter("count");
      await terminal.prompt("May this run?");
      await terminal.press("a");
      await terminal.until("Counted.");
      const { call_1 = "", call_2 } = room.told(2);
      expect(Buffer.byteLength(call_1)).toBeLessThanOrEqual(64 * 1024);
      expect(call_1).toMatch(/^1\n2\n3\n/);
      expect(call_1).toContain("... [output truncated]");
      expect(call_1.endsWith(`\n${LINES}\n`)).toBe(true);
      expect(call_2).toBe("400000\n400001\n400002");
    },
  );

  it("of a file fits what is configured and what the context has room for [FR-OUT-04] [FR-REG-04b]", async () => {
    const text = Array.from({ length: 15_000 }, (_, line) => `${String(line + 1).padStart(9, "0")}\n`).join(
      "",
    );
    const models = { one: { contextTokens: 200_000 }, small: { contextTokens: 8_000 } };
    const script = [
      { calls: [call("read_file", { path: "big.txt" })], usage: { input: 100, output: 10 } },
      { text: "Read." },
    ];
    await using room = await ChatRoom.open([...script, ...script], {
      provider: { models },
      files: { "big.txt": text },
    });
    await room.print("read");
    const { call_1: wide = "" } = room.told(1);
    expect(Buffer.byteLength(wide)).toBeLessThanOrEqual(OUTPUT_BYTES);
    expect(Buffer.byteLength(wide)).toBeGreaterThan(OUTPUT_BYTES - 10);
    expect(wide).toMatch(/^000000001\n/);
    expect(wide).toMatch(/read_output, id "[0-9a-f]+"/);
    expect(wide.endsWith("000015000\n")).toBe(true);

    await room.print("read", "--model", "local/small");
    expect(room.told(3).call_2).toMatch(
      /big.txt has 150000 bytes, and \d{4,5} can be read at once; use start_line/,
    );
  });
});
