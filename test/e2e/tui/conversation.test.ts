import { describe, expect } from "vitest";
import { onTerminal } from "./on-terminal.ts";

describe("talking in a terminal", () => {
  const args = ["echo"];

  onTerminal("takes several lines, wide characters, history and pastes", { args }, async (terminal) => {
    await terminal.enter("漢字 and 👍🏽");
    await terminal.until('You said: "漢字 and 👍🏽"');
    await terminal.enter("one\\");
    await terminal.enter("two");
    await terminal.until('You said: "one\\ntwo"');
    await terminal.type("three");
    await terminal.press("M-Enter");
    await terminal.enter("four");
    await terminal.until('You said: "three\\nfour"');
    await terminal.paste("pasted\nlines");
    await terminal.until(/› pasted\n {2}lines/);
    await terminal.press("Enter");
    await terminal.until('You said: "pasted\\nlines"');
    await terminal.press("Up");
    await terminal.until(/› pasted\n {2}lines\s*\n ready/);
  });

  onTerminal("keeps a long answer in the scrollback, whole and once", { args }, async (terminal) => {
    await terminal.enter("long");
    await terminal.until("Paragraph 60 of an answer");
    await terminal.until(" ready");
    const lines = (await terminal.scrollback()).split("\n").filter((line) => line.includes("Paragraph "));
    expect(lines).toEqual(
      Array.from({ length: 60 }, (_, index) =>
        `  Paragraph ${index + 1} of an answer that goes on.`.replace(/^ {2}(?=Paragraph 1 )/, "● "),
      ),
    );
  });

  onTerminal(
    "shows what is said last of a paragraph that is higher than the window, and breaks it between words",
    { args: ["echo"], columns: 30, rows: 12 },
    async (terminal) => {
      await terminal.enter("paragraph");
      await terminal.until(/word180[\s\S]* answering/);
      await terminal.press("C-c");
      await terminal.until(" ready");
      const rows = (await terminal.scrollback()).split("\n").filter((row) => row.includes("word"));
      expect(rows.length).toBeGreaterThan(20);
      expect(rows.filter((row) => !/^(?:●| ) \S/.test(row))).toEqual([]);
    },
  );

  onTerminal("answers commands, and says what was meant by a wrong one", { args }, async (terminal) => {
    await terminal.enter("/tols");
    await terminal.until("There is no command /tols. Did you mean /tools?");
    await terminal.enter("/tools");
    await terminal.until(/run_command {2}denied {3}Runs a command\. \(changes things\)/);
    await terminal.enter("/undo");
    await terminal.until("/undo did not work: There is nothing to take back.");
    await terminal.enter("/mode auto");
    await terminal.until("Mode: auto");
    await terminal.enter("/help");
    await terminal.until("what can be entered and pressed");
    await terminal.enter("/clear");
    const cleared = await terminal.until(
      (screen) => !screen.includes("Mode: auto") && screen.includes(" ready"),
    );
    expect(cleared).toContain("Say something, or /help");
    await terminal.enter("fail");
    await terminal.until("E3959 The model is gone.");
  });

  onTerminal(
    "stops what is under way by Ctrl-C, and leaves by Ctrl-C when idle",
    { args },
    async (terminal) => {
      await terminal.enter("work");
      await terminal.until("working");
      await terminal.press("C-c");
      await terminal.until("Cancelled.");
      await terminal.until(" ready");
      await new Promise((resolve) => setTimeout(resolve, 2_100));
      await terminal.press("C-c");
      await terminal.until(/left with 0\s+shell>/);
      expect(await terminal.pane("cursor_flag")).toBe("1");
    },
  );

  onTerminal("leaves by Ctrl-C twice, whatever is under way", { args }, async (terminal) => {
    await terminal.enter("work");
    await terminal.until("working");
    await terminal.press("C-c", "C-c");
    await terminal.until(/left with 0\s+shell>/);
  });

  onTerminal("leaves by Ctrl-D on an empty line only", { args }, async (terminal) => {
    await terminal.type("text");
    await terminal.press("C-d");
    await terminal.until("› text");
    await terminal.press("C-u", "C-d");
    await terminal.until(/left with 0\s+shell>/);
  });

  onTerminal("leaves a usable terminal on an order to end", { args }, async (terminal) => {
    await terminal.enter("work");
    await terminal.until("working");
    process.kill(await terminal.pid(), "SIGTERM");
    await terminal.until(/left with 143\s+shell>/);
    await terminal.type("echo still here\n");
    await terminal.until(/^still here$/m);
    expect(await terminal.pane("cursor_flag")).toBe("1");
  });

  onTerminal("leaves a usable terminal when something breaks", { args }, async (terminal) => {
    await terminal.enter("break");
    await terminal.until("a defect");
    await terminal.until(/left with 1\s+shell>/);
    await terminal.type("echo still here\n");
    await terminal.until(/^still here$/m);
    expect(await terminal.pane("cursor_flag")).toBe("1");
  });

  onTerminal(
    "does without colours and without Unicode",
    { args: ["approval"], env: { NO_COLOR: "1", LC_ALL: "C" } },
    async (terminal) => {
      await terminal.enter("please");
      const screen = await terminal.prompt("May these 2 calls run?");
      expect(screen).toContain("> [ ] apply_patch  medium");
      const painted = await terminal.painted();
      expect(painted).not.toContain("\u001b");
      // biome-ignore lint/suspicious/noControlCharactersInRegex: whatever is no ASCII.
      expect(painted).toMatch(/^[\x00-\x7f]*$/);
    },
  );
});
