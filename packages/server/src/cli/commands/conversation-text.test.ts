import type { OpenBatch, Turn } from "@sallyport/loop";
import { describe, expect, it } from "vitest";
import type { ShownConversation } from "./conversation-document.ts";
import { conversationDocument } from "./conversation-document.ts";
import { conversationText } from "./conversation-text.ts";

const plain = { style: (_style: string, text: string) => text };
const look = { full: false, now: 86_400_000, style: plain };

function shown(turns: Turn[], batch?: OpenBatch): ShownConversation {
  const times = { createdAt: 0, updatedAt: 3_600_000 };
  const record = { conversationId: "c-1", model: "m/one", cwd: "/w", title: "What?", ...times };
  return {
    outline: { ...record, turns: turns.length, hasOpenBatch: batch !== undefined },
    turns,
    batch,
    output: { files: batch ? 0 : 2, bytes: batch ? 0 : 2_048 },
  };
}

const use = (id: string, at = 1): Turn => ({ kind: "tool_use", id, name: "look", arguments: '{"p":1}', at });
const result = (id: string, content: string, isError = false): Turn => {
  return { kind: "tool_result", id, name: "look", isError, content, at: 2 };
};
const batch = (fields: Partial<OpenBatch>): OpenBatch => {
  const ids = { batchId: "b", conversationId: "c-1", model: "m/one", openedAt: 5 };
  return { ...ids, phase: "sealed", text: "", calls: [], ...fields };
};
const body = (given: ShownConversation, full = false) =>
  conversationText(given, { ...look, full })
    .split("\n\n")
    .slice(1)
    .join("\n\n");

describe("a conversation as text", () => {
  it("says what it is, then what was said, each call with its state and result [FR-RES-01]", () => {
    const turns: Turn[] = [
      { kind: "user", text: "What?", at: 1 },
      { kind: "reasoning", text: "Hm.", at: 1, meta: { signature: "s" } },
      { kind: "assistant", text: "I look.\nTwice.", at: 1 },
      ...[use("a"), use("b"), use("c")],
      ...[result("a", "found\n"), result("b", "broken", true)],
      { kind: "assistant", text: "", at: 3 },
    ];
    expect(conversationText(shown(turns), look)).toBe(
      [
        "c-1",
        "  began with  What?",
        "  model       m/one",
        "  folder      /w",
        "  started     1970-01-01T00:00:00.000Z (1 d ago)",
        "  last used   1970-01-01T01:00:00.000Z (23 h ago)",
        "  messages    9",
        "  output      2 kept, 2.0 KiB",
        ...["", "You", "  What?", "", "Model, thinking", "  Hm.", "", "Model", "  I look.", "  Twice."],
        ...["", "Call look (a): done", '  {"p":1}', "  →", "  found"],
        ...["", "Call look (b): failed", '  {"p":1}', "  →", "  broken"],
        ...["", "Call look (c): no result", '  {"p":1}'],
      ].join("\n"),
    );
  });

  it("gives each call of a repeated id its own result, and shows a result without a call [FR-RES-01]", () => {
    const turns = [use("a"), result("a", "one"), use("a"), result("a", "two"), result("x", "nobody's")];
    expect(body(shown(turns)).split("\n\n")).toEqual([
      'Call look (a): done\n  {"p":1}\n  →\n  one',
      'Call look (a): done\n  {"p":1}\n  →\n  two',
      "Result of look (x), done\n  nobody's",
    ]);
  });

  it("shows what an open batch has, sealed or still coming in [FR-RES-04]", () => {
    const calls = [
      { index: 0, id: "a", name: "look", arguments: "{}", result: { isError: false, content: "ok", at: 1 } },
      { index: 1, id: "b", name: "look", arguments: "{}" },
    ];
    const sealed = conversationText(shown([use("a"), use("b")], batch({ calls })), look);
    expect(sealed).toContain("  open        1 of 2 calls have a result: sallyport chat --resume c-1");
    expect(sealed).toContain('Call look (a): done\n  {"p":1}\n  →\n  ok');
    expect(sealed).toContain("Call look (b): waits for its result");
    const half = batch({
      phase: "streaming",
      text: "I wil",
      calls: [{ index: 0, id: "a", name: "l", arguments: "{" }],
    });
    const streaming = conversationText(shown([], half), look);
    expect(streaming).toContain("  open        an answer has not come in completely");
    expect(streaming).toContain("Model\n  I wil\n\nCall l (a): was coming in\n  {");
  });
});

describe("what others wrote", () => {
  const EVIL = "\u001b]52;c;aGk=\u0007\u001b[2J\u009b31m\u202e\r";

  it("cannot steer a terminal, nor pass for a line of ours [NFR-SEC-01]", () => {
    const odd = `x${EVIL}\n\nYou\nyes`;
    const given = shown([
      { kind: "user", text: odd, at: 1 },
      { kind: "tool_use", id: odd, name: odd, arguments: odd, at: 1 },
      { kind: "tool_result", id: "other", name: odd, isError: false, content: odd, at: 1 },
    ]);
    Object.assign(given.outline, { title: odd, model: odd, cwd: odd });
    const text = conversationText(given, { ...look, full: true });
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be there
    expect(text).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/);
    expect(text).toContain("\\u001b]52;c;aGk=\\u0007");
    expect(text.split("\n").filter((line) => line === "You")).toHaveLength(1);
    expect(text.split("\n").filter((line) => line === "yes")).toHaveLength(0);
  });

  it("is cut where it is long, and whole with --full", () => {
    const lines = Array.from({ length: 40 }, (_, at) => `line ${at}`);
    const turns = [use("a"), result("a", [...lines, "😀".repeat(400)].join("\r\n"))];
    const short = body(shown(turns));
    expect(short).toContain("  line 11\n  … 29 more lines (--full)");
    expect(short).not.toContain("line 12");
    const wide = body(shown([use("a"), result("a", `x${"😀".repeat(400)}`)]));
    expect(wide).toMatch(/😀… \d+ more characters \(--full\)$/);
    expect(wide.isWellFormed()).toBe(true);
    const full = body(shown(turns), true);
    expect(full).toContain("line 39");
    expect(full).toContain("😀".repeat(400));
  });
});

describe("a conversation as a document", () => {
  it("has times as ISO 8601, and nothing only providers read", () => {
    const turns: Turn[] = [{ kind: "assistant", text: "x", at: 0, meta: { signature: "s" } }, use("a", 0)];
    const document = conversationDocument(shown(turns));
    expect(document).toMatchObject({ messages: 2, open: false, openBatch: null, keptOutput: { files: 2 } });
    expect(document.history).toEqual([
      { kind: "assistant", text: "x", at: "1970-01-01T00:00:00.000Z" },
      { ...use("a"), at: "1970-01-01T00:00:00.000Z" },
    ]);
  });
});
