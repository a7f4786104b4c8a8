import { describe, expect, it } from "vitest";
import { SessionBook } from "./session-book.ts";

describe("sessions", () => {
  it("cannot be guessed, nor told from what names them", () => {
    const book = new SessionBook();
    const { token, session } = book.open("ana");
    expect(token).toMatch(/^sps_[\w-]{43}$/);
    expect(book.find(token)).toEqual(session);
    expect(book.find(session.id)).toBeUndefined();
    expect(JSON.stringify(session)).not.toContain(token.slice(4));
  });

  it("are so many at most; with one more the oldest ends", () => {
    const book = new SessionBook({ most: 3 });
    const tokens = ["a", "b", "c", "d"].map((name) => book.open(name).token);
    expect(tokens.map((token) => book.find(token)?.name)).toEqual([undefined, "b", "c", "d"]);
    expect(book.size).toBe(3);
  });

  it("are forgotten once they are over", () => {
    let now = 0;
    const book = new SessionBook({ lifeMs: 1_000, now: () => now });
    const first = book.open("a");
    now = 999;
    expect(book.find(first.token)).toBeDefined();
    now = 1_000;
    expect(book.find(first.token)).toBeUndefined();
    book.open("b");
    now = 2_500;
    book.open("c");
    expect(book.size).toBe(1);
  });

  it("last eight hours", () => {
    expect(new SessionBook().lifeMs).toBe(8 * 60 * 60 * 1_000);
  });
});
