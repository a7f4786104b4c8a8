import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { jsonFault } from "./json-fault.ts";

function parses(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** JSON with a few characters put in, taken out or exchanged. */
const almostJson = fc
  .tuple(
    fc.json(),
    fc.array(
      fc.tuple(fc.nat(200), fc.nat(2), fc.constantFrom(...'{}[]:,"\\ -+.eE019tfnux\n\t\0é', "true", "\\u00")),
      {
        maxLength: 3,
      },
    ),
  )
  .map(([json, changes]) =>
    changes.reduce((text, [place, gone, put]) => {
      const at = place % (text.length + 1);
      return text.slice(0, at) + put + text.slice(at + gone);
    }, json),
  );

describe("jsonFault", () => {
  it.each([
    ['{"a":1,}', { line: 1, column: 8 }],
    ['{\n  "a": 1\n  "b": 2\n}', { line: 3, column: 3 }],
    ['{"a": tru}', { line: 1, column: 7 }],
    ["", { line: 1, column: 1 }],
    ['{"a":', { line: 1, column: 6 }],
    ['{"😀": x}', { line: 1, column: 7 }],
    ["[1]]", { line: 1, column: 4 }],
    ["{'a':1}", { line: 1, column: 2 }],
    ['["a\nb"]', { line: 1, column: 4 }],
    ["[01]", { line: 1, column: 3 }],
  ])("finds where %j stops to be JSON", (text, fault) => {
    expect(jsonFault(text)).toEqual(fault);
  });

  it("finds a fault exactly where JSON.parse finds one", () => {
    fc.assert(
      fc.property(almostJson, (text) => {
        expect(jsonFault(text) === undefined).toBe(parses(text));
      }),
    );
  });

  it("can be led down any number of levels", () => {
    expect(jsonFault("[".repeat(1_000_000))).toEqual({ line: 1, column: 1_000_001 });
  });

  it("is not led astray by a text of any length", () => {
    expect(jsonFault(`"${"a".repeat(2_000_000)}`)).toEqual({ line: 1, column: 2_000_002 });
    expect(jsonFault(`"${"\\n".repeat(1_000_000)}`)).toEqual({ line: 1, column: 2_000_002 });
  });
});
