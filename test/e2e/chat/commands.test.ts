import { readdirSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import { hasTmux } from "../../fixtures/tmux-terminal/index.ts";
import { call } from "./fixtures/calls.ts";
import { ChatRoom } from "./fixtures/chat-room.ts";

/** Every text in every table of every database of a state folder. */
function* storedTexts(folder: string): Generator<string> {
  for (const name of readdirSync(folder).filter((one) => one.endsWith(".db"))) {
    const database = new DatabaseSync(join(folder, name), { readOnly: true });
    try {
      yield* textsOf(database);
    } finally {
      database.close();
    }
  }
}

function* textsOf(database: DatabaseSync): Generator<string> {
  const tables = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all();
  for (const { name } of tables) {
    for (const row of database.prepare(`SELECT * FROM "${String(name)}"`).all()) {
      for (const value of Object.values(row)) {
        if (typeof value === "string") yield value;
        if (value instanceof Uint8Array) yield Buffer.from(value).toString("latin1");
      }
    }
  }
}

describe("a command in a terminal", () => {
  it.runIf(hasTmux())(
    "is asked about, shown while it runs, kept when it succeeds and taken back when not [IT-CMD-01] [FR-OUT-03] [FR-TOOL-CMD-01] [FR-TUI-03]",
    async () => {
      const slow = "for i in 1 2 3 4 5 6 7 8; do echo tick-$((40+i)); sleep 1; done; echo kept > kept.txt";
      await using room = await ChatRoom.open(
        [
          { calls: [call("run_command", { command: slow })] },
          { calls: [call("run_command", { command: "echo gone > gone.txt; echo because >&2; exit 3" })] },
          { text: "That was all." },
        ],
        { loop: { approval: { denylist: [] } } },
      );
      const terminal = await room.terminal();
      await terminal.enter("run it");
      const asked = await terminal.prompt("May this run?");
      expect(asked).toContain("HIGH RISK");
      expect(asked).toContain("Why you are asked: this tool always requires approval.");
      await terminal.press("a");
      const running = await terminal.until((screen) => screen.includes("tick-41"));
      expect(running).not.toContain("tick-48");
      expect(running).toContain("running tools");
      expect(room.has("kept.txt")).toBe(false);

      await terminal.prompt(/May this run\?[\s\S]*gone.txt/);
      expect(room.read("kept.txt")).toBe("kept\n");
      await terminal.press("a");
      await terminal.until("That was all.");
      expect(room.has("gone.txt")).toBe(false);
      const { call_1 = "", call_2 = "" } = room.told(2);
      expect(call_1).toBe(Array.from({ length: 8 }, (_, i) => `tick-${41 + i}\n`).join(""));
      expect(call_2).toMatch(/run_command failed: .*3[\s\S]*\[stderr\]\nbecause/);
      await terminal.enter("/quit");
      await terminal.until("left with 0");

      const stored = [...storedTexts(room.path(".sallyport"))].filter((text) => text.includes("tick-41"));
      expect(stored.length).toBeGreaterThan(0);
      expect(stored.filter((text) => !text.includes("tick-48"))).toEqual([]);
    },
  );
});
