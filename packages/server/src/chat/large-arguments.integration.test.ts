import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { call, scriptedChat } from "./fixtures/scripted-chat.ts";

const KIB = 1_024;
const patch = (bytes: number) => ({ patch: `LP1\nF n.txt\nT\n${"x\n".repeat(bytes / 2)}.\nEND\n` });

describe("large arguments", () => {
  it("are let through up to the loop's own limits [FR-LIM-03] [FR-LIM-04] [CFG-PATCH-01]", async () => {
    await using chat = await scriptedChat(
      [
        {
          calls: [
            call("write_file", { path: "big.txt", content: "y".repeat(300 * KIB) }, "write"),
            call("apply_patch", patch(500 * KIB), "patch"),
            call("apply_patch", patch(600 * KIB), "patch_beyond"),
            call("write_file", { path: "huge.txt", content: "y".repeat(2_100_000) }, "write_beyond"),
          ],
        },
        { text: "ok" },
      ],
      { loop: { max_tool_args_bytes: 2_000_000, approval: { mode: "auto" } } },
    );
    await chat.chat.conversation.send("go");
    expect(chat.told()).toMatchObject({
      write: `Created big.txt (${300 * KIB} bytes)`,
      patch: "created: n.txt",
      patch_beyond: expect.stringContaining(`${512 * KIB} are allowed`),
      write_beyond: expect.stringContaining("max_tool_args_bytes is 2000000"),
    });
    expect(readFileSync(join(chat.folder, "n.txt"), "utf8")).toHaveLength(500 * KIB - 1);
  });

  it("of a patch are bounded by max_patch_bytes alone, however few max_tool_args_bytes allows [D-11]", async () => {
    const calls = [
      call("apply_patch", patch(500 * KIB), "patch"),
      call("apply_patch", patch(600 * KIB), "patch_beyond"),
      // No text of a patch that is allowed is as long as this.
      call("apply_patch", patch(4_000 * KIB), "patch_far_beyond"),
      call("write_file", { path: "big.txt", content: "y".repeat(2 * KIB) }, "write_beyond"),
    ];
    const loop = { max_tool_args_bytes: KIB, approval: { mode: "auto" } };
    await using chat = await scriptedChat([{ calls }, { text: "ok" }], { loop });
    await chat.chat.conversation.send("go");
    expect(chat.told()).toMatchObject({
      patch: "created: n.txt",
      patch_beyond: expect.stringContaining(`${512 * KIB} are allowed`),
      patch_far_beyond: expect.stringMatching(/Arguments are \d+ bytes; .*apply_patch/),
      write_beyond: expect.stringContaining("max_tool_args_bytes is 1024"),
    });
  });
});
