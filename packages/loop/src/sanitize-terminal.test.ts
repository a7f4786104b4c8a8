import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { TERMINAL_ATTACKS } from "./fixtures/terminal-attacks.ts";
import { sanitizeTerminal, step, TerminalSanitizer } from "./terminal.ts";

const FORBIDDEN =
  /[\p{Cc}--[\n\t]]|[\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff\u{e0000}-\u{e007f}]/v;

const NASTY = "\u001b[]PX^_\\\u0007\u009b\u009c\u009d\u0090\r\n;1mc\u0018\u200b\udb40\udc41é\t";
const hostile = fc
  .array(
    fc.oneof(
      fc.constantFrom(...NASTY.split(""), "\u{e0041}"),
      fc.string({ unit: "binary", maxLength: 4 }),
      fc.constantFrom(...TERMINAL_ATTACKS.map(({ output }) => output)),
    ),
    { maxLength: 30, size: "max" },
  )
  .map((parts) => parts.join(""));

function inPieces(
  text: string,
  cuts: readonly number[],
  sanitizer: TerminalSanitizer = new TerminalSanitizer(),
): string {
  const places = [...cuts.map((cut) => cut % (text.length + 1)), 0, text.length].sort((a, b) => a - b);
  const pieces = places.slice(1).map((place, index) => sanitizer.write(text.slice(places[index], place)));
  return pieces.join("") + sanitizer.end();
}

describe("sanitizing output for a terminal", () => {
  it("knows at least sixty attacks, each by a name of its own [T-OUT-02]", () => {
    expect(TERMINAL_ATTACKS.length).toBeGreaterThanOrEqual(60);
    expect(new Set(TERMINAL_ATTACKS.map(({ name }) => name)).size).toBe(TERMINAL_ATTACKS.length);
  });

  it.each(TERMINAL_ATTACKS)("disarms: $name [FR-OUT-02] [T-OUT-02] [NFR-SEC-05]", ({ output, shown }) => {
    expect(sanitizeTerminal(output)).toBe(shown);
  });

  it.each(TERMINAL_ATTACKS)(
    "disarms it cut after every character: $name [FR-OUT-02]",
    ({ output, shown }) => {
      const everywhere = Array.from({ length: output.length }, (_, index) => index);
      expect(inPieces(output, everywhere)).toBe(shown);
    },
  );

  it("leaves no control and nothing unseen in any text [FR-OUT-02] [NFR-SEC-05]", () => {
    fc.assert(
      fc.property(hostile, (text) => {
        expect(sanitizeTerminal(text)).not.toMatch(FORBIDDEN);
      }),
    );
  });

  it("does the same for a text in pieces, wherever it is cut [FR-OUT-02]", () => {
    fc.assert(
      fc.property(hostile, fc.array(fc.nat(200), { maxLength: 12 }), (text, cuts) => {
        expect(inPieces(text, cuts)).toBe(sanitizeTerminal(text));
      }),
    );
  });

  it("changes nothing the second time [FR-OUT-02]", () => {
    fc.assert(
      fc.property(hostile, (text) => {
        const once = sanitizeTerminal(text);
        expect(sanitizeTerminal(once)).toBe(once);
      }),
    );
  });

  it("keeps printable text, tabs and line feeds as they are [FR-OUT-02]", () => {
    const printable = fc.string({
      unit: fc.constantFrom(..."\t\n", ...Array.from({ length: 95 }, (_, i) => String.fromCharCode(32 + i))),
    });
    fc.assert(fc.property(printable, (text) => sanitizeTerminal(text) === text));
    const text = "Grüße, 世界, مرحبا, नमस्ते, 🎉👍🏽 ✔️ ½ “quoted” — …\n\tdone";
    expect(sanitizeTerminal(text)).toBe(text);
  });

  it("shows or hides every single character as the states say [FR-OUT-02]", () => {
    for (let code = 0; code <= 0xffff; code += 1) {
      if (code === 0xdb40 || code === 0x0d) continue;
      const [state, shown] = step("text", code);
      const char = String.fromCharCode(code);
      const rest = state === "text" ? "z" : "";
      if (shown === "nothing") expect(sanitizeTerminal(`a${char}`)).toBe("a");
      else expect(sanitizeTerminal(`a${char}z`)).toBe(`a${char}${rest}`);
    }
  });

  it("shows what follows a sequence that never ends, after a bound [FR-OUT-02]", () => {
    const endings = { csi: "\u001b[", osc: "\u001b]0;", string: "\u001bP" };
    for (const opening of Object.values(endings)) {
      const text = `${opening}${"1".repeat(1_100_000)}the end`;
      expect(sanitizeTerminal(text).endsWith("the end")).toBe(true);
    }
  });

  it("keeps every CR for one who shows rewritten lines, and nothing else of a control [FR-OUT-02]", () => {
    const kept = (text: string, cuts: readonly number[]) =>
      inPieces(text, cuts, new TerminalSanitizer({ returns: "keep" }));
    expect(kept("1%\r\u001b[K2%\r\ndone\r", [])).toBe("1%\r2%\r\ndone\r");
    fc.assert(
      fc.property(hostile, fc.array(fc.nat(200), { maxLength: 12 }), (text, cuts) => {
        const shown = kept(text, cuts);
        expect(shown).toBe(kept(text, []));
        expect(shown.replaceAll("\r", "")).not.toMatch(FORBIDDEN);
        expect(shown.replaceAll(/\r\n?/g, "\n")).toBe(sanitizeTerminal(text));
      }),
    );
  });

  it("can be used again after the end [FR-OUT-02]", () => {
    const sanitizer = new TerminalSanitizer();
    sanitizer.write("a\u001b]0;half");
    sanitizer.end();
    expect(sanitizer.write("whole\r")).toBe("whole\n");
    sanitizer.end();
    expect(sanitizer.write("\nb")).toBe("\nb");
  });
});
