import { chmodSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { openScriptedModel } from "../../fixtures/scripted-model/index.ts";
import { hasTmux } from "../../fixtures/tmux-terminal/index.ts";
import { ChatRoom } from "./fixtures/chat-room.ts";

const KEY = "sk-scripted-0123456789-never-to-be-seen";

describe("trouble with a model", () => {
  it.runIf(hasTmux())(
    "is told clearly, shows no key, and leaves the conversation where it was [NFR-REL-04]",
    async () => {
      await using room = await ChatRoom.open(
        [
          { status: 401, body: { error: { message: `Incorrect API key provided: ${KEY}.` } } },
          { status: 429, headers: { "retry-after": "1" } },
          { text: "After a while." },
          { status: 404, body: { error: { message: "The model one does not exist." } } },
          { text: ["Half an ", "answer and"], end: "cut" },
          { text: "The whole answer." },
        ],
        { provider: { apiKey: { file: "key.txt" } }, files: { "key.txt": `${KEY}\n` } },
      );
      chmodSync(room.path("key.txt"), 0o600);
      const terminal = await room.terminal();
      await terminal.enter("one");
      await terminal.until(/E\d+ .*401[\s\S]*Check the provider's key/);
      await terminal.until(" ready");
      await terminal.enter("two");
      await terminal.until("After a while.");
      await terminal.until(" ready");
      await terminal.enter("three");
      await terminal.until("Check the model's name");
      await terminal.until(" ready");
      await terminal.enter("four");
      await terminal.until(/Half an answer and\s+✗ E3959 .*the connection broke/);
      await terminal.until(" ready");
      await terminal.enter("five");
      await terminal.until("The whole answer.");
      await terminal.until(" ready");

      const port = Number(new URL(room.model.url).port);
      await room.model.close();
      await terminal.enter("six");
      await terminal.until(/› six[\s\S]*Asking again[\s\S]*✗ E3959[\s\S]*Check that the provider runs/);
      await terminal.until(" ready");
      const back = await openScriptedModel([{ text: "Here again." }], { port });
      try {
        await terminal.enter("seven");
        await terminal.until("Here again.");
        const said = back.requests[0]?.body.messages.filter(({ role }) => role === "user");
        expect(JSON.stringify(said)).toMatch(/one.*two.*three.*four.*five.*six.*seven/s);
        expect(back.requests[0]?.headers.authorization).toBe(`Bearer ${KEY}`);
      } finally {
        await back.close();
      }
      expect(terminal.received()).not.toContain(KEY.slice(0, 20));
      await terminal.enter("/quit");
      await terminal.until("left with 0");
    },
  );
});
