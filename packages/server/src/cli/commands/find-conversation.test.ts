import type { ConversationOutline } from "@sallyport/loop";
import { isFailure } from "@sallyport/protocol";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { findConversation } from "./find-conversation.ts";

const RECORD = { model: "m", cwd: "/", title: "", createdAt: 1, updatedAt: 1, turns: 1, hasOpenBatch: false };
const outlines = (ids: readonly string[]): ConversationOutline[] =>
  ids.map((conversationId) => ({ ...RECORD, conversationId }));
const ALL = outlines(["01ab-5555", "01ab-4444", "02cd-3333"]);

function answer(wanted: string, all = ALL) {
  const found = findConversation(wanted, all);
  return isFailure(found) ? `${found.code} ${found.message} ${found.advice}` : found.conversationId;
}

describe("a conversation is found", () => {
  it.each([
    ["02cd-3333", "02cd-3333"],
    ["02cd", "02cd-3333"],
    ["01ab-4", "01ab-4444"],
    ["last", "01ab-5555"],
  ])("by its id, the beginning of one, or as the last: %s", (wanted, id) => {
    expect(answer(wanted)).toBe(id);
  });

  it("by its whole id, also when another begins with it or it is short", () => {
    expect(answer("abcd", outlines(["abcde", "abcd"]))).toBe("abcd");
    expect(answer("a", outlines(["ab", "a"]))).toBe("a");
  });
});

describe("a conversation is refused", () => {
  it("when several begin so, with those it could be", () => {
    expect(answer("01ab")).toBe(
      "E3921 2 conversations begin with 01ab: 01ab-5555, 01ab-4444. Give more of the id.",
    );
    expect(answer("same", outlines(["same1", "same2", "same3", "same4", "same5"]))).toContain(
      "5 conversations begin with same: same1, same2, same3 and 2 more.",
    );
  });

  it("when there is none, with the nearest", () => {
    expect(answer("02dc")).toMatch(/^E3917 There is no conversation 02dc\. Did you mean 02cd-3333\? See /);
    expect(answer("02cd-3334")).toContain("Did you mean 02cd-3333?");
    expect(answer("zzzzzzzz")).toMatch(/^E3917 There is no conversation zzzzzzzz\. See those/);
    expect(answer("last", [])).toMatch(/^E3917 There is no conversation yet\./);
  });

  it.each(["", "0", "02c"])("when it is named by too little: %j", (wanted) => {
    expect(answer(wanted, outlines(["02cd-3333"]))).toMatch(/^E3921 .* at least 4 characters/);
  });

  it("or is the only one it can be, whatever is named", () => {
    const id = fc.stringMatching(/^[ab]{1,6}$/);
    fc.assert(
      fc.property(fc.uniqueArray(id, { maxLength: 6 }), id, (ids, wanted) => {
        const found = findConversation(wanted, outlines(ids));
        const possible = ids.includes(wanted) ? [wanted] : ids.filter((one) => one.startsWith(wanted));
        const isClear = possible.length === 1 && (wanted.length >= 4 || ids.includes(wanted));
        expect(isFailure(found) ? undefined : found.conversationId).toBe(isClear ? possible[0] : undefined);
      }),
    );
  });
});
