import { describe, expect, it } from "vitest";
import { call, scriptedChat } from "./fixtures/scripted-chat.ts";

const patch = (path: string) => ({ patch: `LP1\nF ${path}\nT\nx\n.\nEND\n` });

describe("a call that cannot run", () => {
  it("is refused without asking anybody, and the model is told why [FR-VAL-02] [FR-APR-05]", async () => {
    await using chat = await scriptedChat(
      [
        {
          calls: [
            call("write_file", { path: ".sallyport/x", content: "1" }, "state"),
            call("write_file", { path: "sallyport.yaml", content: "1" }, "config"),
            call("write_file", { path: "have.txt", content: "1" }, "there"),
            call("write_file", { path: "sub", content: "1" }, "folder"),
            call("apply_patch", patch("sallyport.yaml"), "patch config"),
            call("apply_patch", patch("sub"), "patch folder"),
          ],
        },
        { text: "ok" },
      ],
      { files: { "have.txt": "1", "sub/x": "1" } },
    );
    await chat.chat.conversation.send("go");
    expect(chat.asked).toEqual([]);
    expect(chat.told()).toMatchObject({
      state: expect.stringContaining('is denied by the pattern ".sallyport/**"'),
      config: expect.stringContaining('is denied by the pattern "sallyport.yaml"'),
      there: expect.stringContaining("have.txt already exists"),
      folder: expect.stringContaining("sub is a directory"),
      patch_config: expect.stringContaining('is denied by the pattern "sallyport.yaml"'),
      patch_folder: expect.stringContaining("is a directory"),
    });
  });

  it("is told of its path first where only few tools may run [FR-APR-05]", async () => {
    await using chat = await scriptedChat(
      [
        {
          calls: [
            call("write_file", { path: "../x", content: "" }, "above"),
            call("write_file", { path: "k.pem", content: "" }, "key"),
            call("write_file", { path: "k.txt", content: "" }, "fine"),
          ],
        },
        { text: "ok" },
      ],
      { loop: { approval: { mode: "deny" } } },
    );
    await chat.chat.conversation.send("go");
    expect(chat.told()).toMatchObject({
      above: expect.stringMatching(/The path "\.\.\/x" has/),
      key: expect.stringContaining("**/*.pem"),
      fine: expect.stringContaining("is not on the allowlist"),
    });
  });
});
