import { existsSync, readdirSync } from "node:fs";
import { openSqliteConversations } from "@sallyport/adapters/conversations";
import type { Conversations } from "@sallyport/loop";
import { describe, expect, it } from "vitest";
import { eventually, hasTmux } from "../fixtures/tmux-terminal/index.ts";
import { call } from "./chat/fixtures/calls.ts";
import { ChatRoom } from "./chat/fixtures/chat-room.ts";

const DAY_MS = 86_400_000;

/** The parsed document of a `conversations` command. */
async function json(room: ChatRoom, ...args: string[]) {
  const { stdout, stderr, code } = await room.run("conversations", ...args, "--json");
  try {
    return { code, document: JSON.parse(stdout) };
  } catch {
    throw new Error(`not JSON: ${stdout}\n${stderr}`);
  }
}

async function listed(room: ChatRoom): Promise<string[]> {
  const { document } = await json(room, "list", "--all");
  return document.map((one: { conversationId: string }) => one.conversationId);
}

/** Uses the file of conversations as a chat would. */
async function inFile<Result>(room: ChatRoom, use: (conversations: Conversations) => Promise<Result>) {
  const folder = room.path(".sallyport");
  const conversations = await openSqliteConversations({ folder, durability: "process" });
  return await use(conversations).finally(() => conversations.close());
}

const aged = (room: ChatRoom, id: string, days: number) =>
  inFile(room, (conversations) => conversations.update(id, { at: Date.now() - days * DAY_MS }));

const holders = (room: ChatRoom) =>
  existsSync(room.path(".sallyport/output")) ? readdirSync(room.path(".sallyport/output")).length : 0;

/** Begins a chat that never ends by itself, and gives it once its call has come in. */
async function hanging(room: ChatRoom) {
  const chat = room.start("chat", "--print", "write");
  await eventually("the call", () => (chat.ran.stdout.includes('"kind":"call"') ? true : undefined));
  return chat;
}

const BIG = { "big.txt": "0123456789\n".repeat(30_000) };
const READS = [
  { calls: [call("read_file", { path: "big.txt", start_line: 1, end_line: 20_000 })] },
  { text: "Read." },
];
const HANGS = { calls: [call("write_file", { path: "w.txt", content: "x" })], end: "hang" } as const;

describe("where there is no conversation", () => {
  it("says so, makes nothing, and refuses what is not there", async () => {
    await using room = await ChatRoom.open([]);
    const empty = await room.run("conversations", "list");
    expect(empty).toMatchObject({ code: 0, stdout: expect.stringContaining("No conversation yet.") });
    expect(await json(room, "list")).toEqual({ code: 0, document: [] });
    const shown = await json(room, "show", "last");
    expect(shown).toMatchObject({ code: 2, document: { status: "error", error: { code: "E3917" } } });
    expect(await json(room, "delete", "abcd", "--yes")).toMatchObject({ code: 2 });
    const pruned = await json(room, "prune", "--older-than", "1d");
    expect(pruned).toEqual({ code: 0, document: expect.objectContaining({ removed: [], freedBytes: 0 }) });
    expect(room.has(".sallyport")).toBe(false);
  });
});

describe("conversations list and show", () => {
  it("give the last used first, readable, whole for programs, and safe for a terminal [FR-RES-01] [NFR-SEC-01]", async () => {
    await using room = await ChatRoom.open(
      [
        { text: "Hello." },
        { calls: [call("read_file", { path: "a.txt" }), call("read_file", { path: "none.txt" })] },
        { text: "There\u001b[2J it is." },
      ],
      { files: { "a.txt": "alpha\u001b]0;x\u0007\n" } },
    );
    const first = await room.print("first words");
    const second = await room.print("look\u001b[31m at a.txt");
    const text = await room.run("conversations", "list");
    const lines = text.stdout.trim().split("\n");
    expect(lines[0]).toMatch(/^CONVERSATION +STARTED +LAST USED +MESSAGES +OPEN +BEGAN WITH$/);
    expect(lines[1]).toMatch(new RegExp(`^${second.conversation} .* 6 +- +look\\\\u001b\\[31m at a.txt$`));
    expect(lines[2]).toMatch(new RegExp(`^${first.conversation} .* 2 +- +first words$`));
    const limited = await room.run("conversations", "list", "--limit", "1");
    expect(limited.stdout).not.toContain(first.conversation);
    expect(limited.stderr).toContain("--all");

    const shown = await room.run("conversations", "show", "last");
    expect(shown.stdout).toContain("You\n  look\\u001b[31m at a.txt\n");
    expect(shown.stdout).toMatch(
      /Call read_file \(call_1\): done\n {2}\{"path":"a.txt"\}\n {2}→\n {2}alpha\\u001b/,
    );
    expect(shown.stdout).toMatch(/Call read_file \(call_2\): failed\n/);
    expect(shown.stdout).toContain("Model\n  There\\u001b[2J it is.");
    expect(text.stdout + shown.stdout).not.toContain("\u001b");

    const { document } = await json(room, "show", second.conversation.slice(0, -3));
    expect(document).toMatchObject({ conversationId: second.conversation, messages: 6, open: false });
    expect(document.history.map(({ kind }: { kind: string }) => kind)).toEqual([
      "user",
      "tool_use",
      "tool_use",
      "tool_result",
      "tool_result",
      "assistant",
    ]);
    const wrong = await room.run("conversations", "show", `${first.conversation.slice(0, -1)}g`);
    expect(wrong).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(`Did you mean ${first.conversation}?`),
    });
    const short = await room.run("conversations", "show", "01");
    expect(short).toMatchObject({ code: 2, stderr: expect.stringMatching(/E3921/) });
  });
});

describe("conversations delete", () => {
  it("removes a conversation with its kept output, and says what was freed [FR-OUT-04] [NFR-REL-01]", async () => {
    await using room = await ChatRoom.open([...READS, { text: "Hello." }], { files: BIG });
    const { conversation } = await room.print("read");
    const other = await room.print("hello");
    expect(holders(room)).toBe(1);
    const unsure = await room.run("conversations", "delete", conversation);
    expect(unsure).toMatchObject({ code: 2, stderr: expect.stringContaining("Add --yes") });
    const half = await room.run("conversations", "delete", conversation, "nobody", "--yes");
    expect(half).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("There is no conversation nobody."),
    });
    expect(await listed(room)).toHaveLength(2);

    const done = await room.run("conversations", "delete", conversation, conversation, "--yes");
    expect(done.stdout).toMatch(
      new RegExp(
        `^Deleted ${conversation}: 4 messages, 1 kept output \\(2\\d\\d KiB\\)\\.\nFreed \\d+ KiB\\.\n$`,
      ),
    );
    expect(await listed(room)).toEqual([other.conversation]);
    expect(holders(room)).toBe(0);
    const resumed = await room.run("chat", "--resume", conversation, "--print", "more");
    expect(resumed.stderr).toContain("E3917");
    expect((await room.run("calls", "list")).stdout).toContain("read_file");
  });

  it("refuses one with an open batch unless it is forced [FR-RES-04]", async () => {
    await using room = await ChatRoom.open([HANGS]);
    const { child, done } = await hanging(room);
    child.kill("SIGKILL");
    await done;
    const [id = ""] = await listed(room);
    expect((await room.run("conversations", "list")).stdout).toMatch(/ open +write\n/);
    expect((await room.run("conversations", "show", id)).stdout).toContain(
      "Call write_file (call_1): was coming in",
    );
    const refused = await room.run("conversations", "delete", id, "--yes");
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining("--force") });
    expect(await json(room, "prune", "--older-than", "1s")).toMatchObject({ document: { removed: [] } });
    expect(await listed(room)).toEqual([id]);
    const forced = await json(room, "delete", id, "--yes", "--force");
    expect(forced).toMatchObject({ code: 0, document: { removed: [{ conversationId: id, messages: 1 }] } });
    expect(await listed(room)).toEqual([]);
  });

  it.runIf(hasTmux())("withdraws the questions of one it is forced to delete [FR-RES-05]", async () => {
    await using room = await ChatRoom.open([
      { calls: [call("write_file", { path: "w.txt", content: "x" })] },
    ]);
    const terminal = await room.terminal();
    await terminal.enter("write");
    await terminal.prompt("May this run?");
    process.kill(await terminal.pid(), "SIGKILL");
    await terminal.until("left with 137");
    expect((await room.run("approvals", "list")).stdout).toMatch(/pending +.*write_file|pending/);
    expect((await room.run("conversations", "show", "last")).stdout).toContain("waits for its result");
    expect(await room.run("conversations", "delete", "last", "--yes", "--force")).toMatchObject({ code: 0 });
    expect((await room.run("approvals", "list")).stdout).toContain("Nothing waits for approval.");
  });
});

describe("conversations prune", () => {
  it("removes what was not used for so long, and with --dry-run only says so [NFR-REL-01]", async () => {
    await using room = await ChatRoom.open([...READS, { text: "Hello." }], { files: BIG });
    const old = await room.print("read");
    const young = await room.print("hello");
    await aged(room, old.conversation, 31);
    const dry = await room.run("conversations", "prune", "--older-than", "30d", "--dry-run");
    expect(dry.stdout).toMatch(
      new RegExp(`^Would remove ${old.conversation}: 4 messages, 1 kept output .*\n$`),
    );
    expect(await listed(room)).toHaveLength(2);
    const none = await room.run("conversations", "prune", "--older-than", "32d");
    expect(none.stdout).toBe("No conversation was last used more than 32 d ago.\n");
    const { document } = await json(room, "prune", "--older-than", "30d");
    expect(document).toMatchObject({
      dryRun: false,
      removed: [{ conversationId: old.conversation, output: { files: 1 } }],
    });
    expect(document.freedBytes).toBeGreaterThan(200_000);
    expect(await listed(room)).toEqual([young.conversation]);
    expect(holders(room)).toBe(0);
    const unsaid = await room.run("conversations", "prune");
    expect(unsaid).toMatchObject({ code: 2, stderr: expect.stringContaining("--older-than") });
  });
});

describe("while a chat has the state folder", () => {
  it("reading works, and removing is refused with advice [NFR-REL-01]", async () => {
    await using room = await ChatRoom.open([{ text: "Hello." }, HANGS]);
    const { conversation } = await room.print("hello");
    const { child, done } = await hanging(room);
    expect(await listed(room)).toHaveLength(2);
    expect((await room.run("conversations", "show", conversation)).stdout).toContain("Hello.");
    const dry = await json(room, "prune", "--older-than", "1s", "--dry-run");
    expect(dry.document.removed).toHaveLength(1);
    const refusals = [
      ["delete", conversation, "--yes"],
      ["delete", "last", "--yes", "--force"],
      ["prune", "--older-than", "1s"],
    ];
    // At once: each waits for the folder as long as a command waits.
    const answers = await Promise.all(refusals.map((args) => json(room, ...args)));
    for (const [index, { code, document }] of answers.entries()) {
      expect(code, refusals[index]?.join(" ")).toBe(70);
      expect(document.error).toMatchObject({ code: "E3915", advice: expect.stringContaining("/quit") });
    }
    expect(await listed(room)).toHaveLength(2);
    child.kill("SIGKILL");
    await done;
  });
});

describe("a chat that opens", () => {
  it("removes what is older than configured, says so once, and spares what it resumes [NFR-REL-01]", async () => {
    const script = ["Hello.", "Hello.", "Again.", "New.", "Newer."].map((text) => ({ text }));
    await using room = await ChatRoom.open(script, { loop: { keep_conversations_days: 7 } });
    const [old, older] = [await room.print("one"), await room.print("two")];
    for (const { conversation } of [old, older]) await aged(room, conversation, 8);
    const resumed = await room.print("again", "--resume", older.conversation);
    expect(resumed).toMatchObject({ code: 0, end: { kind: "done", text: "Again." } });
    expect(resumed.stderr).toBe(
      "Removed 1 conversation not used for 7 days (loop.keep_conversations_days).\n",
    );
    expect(await listed(room)).toEqual([older.conversation]);
    expect((await room.print("new")).stderr).toBe("");
  });

  it("keeps everything where that is configured, and 90 days otherwise [NFR-REL-01]", async () => {
    const script = ["One.", "Two.", "Three."].map((text) => ({ text }));
    await using room = await ChatRoom.open(script, { loop: { keep_conversations_days: 0 } });
    const { conversation } = await room.print("one");
    await aged(room, conversation, 4_000);
    expect((await room.print("two")).stderr).toBe("");
    expect(await listed(room)).toHaveLength(2);
    room.write("sallyport.yaml", room.read("sallyport.yaml").replace(',"keep_conversations_days":0', ""));
    expect((await room.print("three")).stderr).toContain("not used for 90 days");
    expect(await listed(room)).toHaveLength(2);
  });
});
