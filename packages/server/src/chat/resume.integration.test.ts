import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { runLine } from "../cli/fixtures/run-line.ts";
import { loadConfig } from "../config/load.ts";
import { scriptedChat } from "./fixtures/scripted-chat.ts";
import { openChat } from "./open-chat.ts";

describe("earlier conversations", () => {
  it("are gone on with by the beginning of an id, and listed also where nothing else is kept", async () => {
    await using chat = await scriptedChat([{ text: "hello" }]);
    const { conversation } = chat.chat;
    await conversation.send("hi there");
    await chat.chat.close();
    const config = loadConfig({ cwd: chat.folder });
    const again = await openChat({ config, resume: conversation.id.slice(0, 8) }, "op");
    expect(again.conversation.id).toBe(conversation.id);
    await again.close();
    const refused = await openChat({ config, resume: conversation.id.slice(0, 2) }, "op").catch(String);
    expect(refused).toContain("is too short for a conversation");
    rmSync(join(chat.folder, ".sallyport/sallyport.db"));
    expect((await runLine(chat.folder, ["chat", "--list"])).out).toContain("hi there");
  });

  it("are none in a new folder, which a list leaves as it is", async () => {
    const cwd = mkdtempSync(join(tmpdir(), "sallyport-chat-list-"));
    expect((await runLine(cwd, ["chat", "--list"])).out).toBe("No conversation yet.\n");
    expect(existsSync(join(cwd, ".sallyport"))).toBe(false);
    rmSync(cwd, { recursive: true });
  });
});
