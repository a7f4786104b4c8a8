import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { json, soup } from "./fixtures/arbitrary.ts";
import { ALNUM, drawn } from "./fixtures/made-up.ts";
import { describeCall, summaryOf } from "./summary.ts";

const points = (text: string) => [...text].length;
const NOT_ON_A_LINE = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/u;

describe("the summary of a text [FR-APR-01]", () => {
  it("has no secrets, and none is cut in half", () => {
    const secret = `ghp_${drawn(ALNUM, 36)}`;
    for (let before = 150; before < 215; before += 1) {
      const summary = summaryOf(`${"word ".repeat(50).slice(0, before)} ${secret} and more words after it`);
      expect(points(summary)).toBeLessThanOrEqual(200);
      expect(summary).not.toContain("ghp_");
    }
  });

  it("is at most 200 characters, the last an ellipsis when there was more", () => {
    expect(summaryOf("a".repeat(200))).toBe("a".repeat(200));
    expect(summaryOf("ab ".repeat(100))).toBe(`${"ab ".repeat(66)}a…`);
    expect(points(summaryOf("\ud83d\ude00".repeat(300)))).toBe(200);
    expect(summaryOf("")).toBe("");
  });

  it("splits no character that people see as one", () => {
    const family = "👩‍👩‍👧‍👦";
    const summary = summaryOf(`${"a".repeat(190)}${family}${family}`);
    expect(summary).toBe(`${"a".repeat(190)}${family}…`);
    expect(summaryOf(`${"a".repeat(198)}e\u0301e\u0301`)).toBe(`${"a".repeat(198)}…`);
  });

  it("is one line in which nothing is unseen", () => {
    expect(summaryOf("  one\r\n\ttwo\u2028three \u00a0 four\n")).toBe("one ⏎ two ⏎ three four");
    expect(summaryOf("a\u202eb\u0000c\u001b[31md\u200be\ufefff\u{e0041}g\ud800")).toBe(
      "a<U+202E>b<U+0000>c<U+001B>[31md<U+200B>e f<U+E0041>g<U+D800>",
    );
    expect(summaryOf("a\u200db می\u200cخواهم 👩‍👧")).toBe("a<U+200D>b می\u200cخواهم 👩‍👧");
  });

  it("shows where a line ends, however it ends, and never as a space", () => {
    expect(summaryOf("echo safe\nrm -rf important")).toBe("echo safe ⏎ rm -rf important");
    expect(summaryOf("a\r\nb\rc\u0085d\u2028e\u2029f\vg\fh \t\n \n\t i\n")).toBe(
      "a ⏎ b ⏎ c ⏎ d ⏎ e ⏎ f ⏎ g ⏎ h ⏎ i",
    );
  });

  it("shows that something follows a great deal of white space", () => {
    expect(summaryOf(`harmless${" ".repeat(9_000)}rm -rf /`)).toBe("harmless…");
    expect(summaryOf(`harmless${" ".repeat(900)}rm -rf /`)).toBe("harmless rm -rf /");
  });

  it("holds for any text", () => {
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: "binary", maxLength: 600 }), soup), (text) => {
        const summary = summaryOf(text);
        expect(points(summary)).toBeLessThanOrEqual(200);
        expect(summary.isWellFormed()).toBe(true);
        expect(summary).not.toMatch(NOT_ON_A_LINE);
      }),
    );
  });
});

describe("the description of a call [FR-APR-01]", () => {
  const call = (input: Parameters<typeof describeCall>[0]["input"]) =>
    describeCall({ tool: "calculator", operation: "add", input });

  it("names the tool, the operation and the arguments", () => {
    expect(call({ a: 2, b: 3 })).toBe("calculator add a=2 b=3");
    expect(
      call({ path: "/srv/a.txt", force: true, note: "two words", n: null, digits: "12", yes: "true" }),
    ).toBe('calculator add path=/srv/a.txt force=true note="two words" n=null digits="12" yes="true"');
    expect(call({ list: [1, { a: "b" }], "odd name": {} })).toBe(
      'calculator add list=[1,{"a":"b"}] "odd name"={}',
    );
    expect(call({})).toBe("calculator add");
    expect(call([1, 2])).toBe("calculator add [1,2]");
    expect(call("text")).toBe("calculator add text");
  });

  it("shows no secret, by name or by look", () => {
    expect(call({ user: "ada", password: "hunter2", note: "token=abc123 x", list: [{ pin: 1234 }] })).toBe(
      'calculator add user=ada password=[REDACTED] note="token=[REDACTED] x" list=[{"pin":"[REDACTED]"}]',
    );
  });

  it("gives each argument its share of the line", () => {
    const line = call({ first: "x".repeat(500), second: "y".repeat(500), third: 3 });
    expect(line).toMatch(/^calculator add first=x+… second=y+… third=3$/);
    expect(points(line)).toBeLessThanOrEqual(200);
  });

  it("cannot be made to read like other arguments", () => {
    expect(call({ note: "x b=3", "a=1 c": 2 })).toBe('calculator add note="x b=3" "a=1 c"=2');
    expect(call({ note: "a\u202e\n" })).toBe('calculator add note="a<U+202E>\\n"');
  });

  it("shows neither addresses of people nor secrets", () => {
    const described = { tool: "mail", operation: "send", input: { to: "ada@example.com", token: "abc" } };
    expect(describeCall(described)).toBe("mail send to=[REDACTED_EMAIL] token=[REDACTED]");
  });

  it("is bounded for any input, however deep or wide", () => {
    fc.assert(
      fc.property(json, (input) => {
        const line = call(input);
        expect(points(line)).toBeLessThanOrEqual(200);
        expect(line).not.toMatch(NOT_ON_A_LINE);
      }),
    );
    let deep: Parameters<typeof call>[0] = 1;
    for (let level = 0; level < 10_000; level += 1) deep = [deep];
    expect(points(call({ deep }))).toBeLessThanOrEqual(200);
    expect(points(call(Object.fromEntries(Array.from({ length: 10_000 }, (_, at) => [`n${at}`, at]))))).toBe(
      200,
    );
  });
});
