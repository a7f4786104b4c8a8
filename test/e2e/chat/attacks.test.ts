import { describe, expect, it } from "vitest";
import { TERMINAL_ATTACKS } from "../../../packages/loop/src/fixtures/terminal-attacks.ts";
import { eventually, hasTmux, type TmuxTerminal } from "../../fixtures/tmux-terminal/index.ts";
import { call, replaceLine } from "./fixtures/calls.ts";
import { ChatRoom } from "./fixtures/chat-room.ts";

const ESC = "\u001b";
/** One of each kind that leaves a trace in the terminal, so that its effect can be seen. */
const TRACES = `${ESC}]2;OWNED${ESC}\\${ESC}]52;c;T1dORUQ=\u0007${ESC}[?1000h${ESC}[3;5r${ESC}[4h`;
const HOSTILE = `${TRACES}${TERMINAL_ATTACKS.map(({ output }) => output).join("\n")}\n${TRACES}end of it`;
/** The same without what makes a file binary and arguments unreadable. */
const TEXT = HOSTILE.replaceAll("\0", "").toWellFormed();
const UNTOUCHED = [
  "pane_title",
  "alternate_on",
  "mouse_any_flag",
  "insert_flag",
  "scroll_region_upper",
  "scroll_region_lower",
];
/** What the screen itself sends: colours, moves of its own lines, the cursor shown or not, pastes marked, frames in one. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this is about.
const OWN = /\u001b\[(?:[\d;]*m|\d*[ABGJK]|2J|3J|H|\?(?:25|2004|2026)[hl]|[<>=]\d*u|\?u|c)/g;

/** What a terminal could act on, or a reader be deceived by. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this is about.
const ACTING = /[\0-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/;

async function stateOf(terminal: TmuxTerminal): Promise<string[]> {
  return [await terminal.clipboard(), ...(await Promise.all(UNTOUCHED.map((name) => terminal.pane(name))))];
}

describe("what a model, a file or a command says to the terminal", () => {
  it.runIf(hasTmux())("never acts on it [T-OUT-02] [FR-OUT-02] [NFR-SEC-05]", async () => {
    await using room = await ChatRoom.open(
      [
        {
          reasoning: HOSTILE,
          text: HOSTILE,
          calls: [
            call("read_file", { path: "evil.txt" }),
            call("read_file", { path: `no${TRACES}name` }),
            call(`tool${TRACES}`, { x: TEXT }, `id${TRACES}`),
          ],
        },
        {
          calls: [
            call("apply_patch", { patch: replaceLine("evil.txt", "plain line", "another") }),
            call("write_file", { path: "new.txt", content: TEXT }),
            call("run_command", { command: `cat evil.txt; : '${TEXT.replaceAll("'", "")}'` }),
          ],
        },
        { status: 400, body: { error: { message: `refused ${HOSTILE}` } } },
      ],
      {
        loop: { approval: { denylist: [] } },
        files: { "evil.txt": `plain line\n${TEXT.replaceAll("\r", "")}\n`, "traces.bin": TRACES },
      },
    );
    const terminal = await room.terminal();
    const before = await stateOf(terminal);
    await terminal.enter("go");
    await terminal.prompt("May these 3 calls run?");
    await terminal.press("v", "j", "v", "j");
    await terminal.until("(3 of 3)");
    await terminal.press("p");
    await terminal.until(/HIGH RISK[\s\S]*What would change/);
    expect(await stateOf(terminal)).toEqual(before);
    await terminal.press("a");
    await terminal.until(/E\d+ .*refused/);
    await terminal.until(" ready");

    expect(await stateOf(terminal)).toEqual(before);
    const own = terminal.received().slice(terminal.received().indexOf("Sallyport")).replaceAll(OWN, "");
    const at = own.search(ACTING);
    expect(at === -1 ? "" : own.slice(Math.max(0, at - 40), at + 60)).toBe("");
    expect(own).toContain("end of it");

    await terminal.enter("/quit");
    await terminal.until("left with 0");
    // The same bytes do act on this terminal when nothing stands between.
    await terminal.enter("cat traces.bin");
    await eventually("a title set by a file", async () =>
      (await terminal.pane("pane_title")) === "OWNED" ? true : undefined,
    );
    expect(await terminal.clipboard()).not.toBe(before[0]);
  });
});
