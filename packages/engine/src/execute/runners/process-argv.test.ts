import type { JsonValue } from "@sallyport/protocol";
import { array, assert, constantFrom, dictionary, jsonValue, property, string } from "fast-check";
import { describe, expect, it } from "vitest";
import { programArgv } from "./process-runner.ts";

function argv(command: string[], input: JsonValue): string[] {
  const made = programArgv({ command }, input);
  if (!made.ok) throw new Error(JSON.stringify(made.fault));
  return made.argv;
}

function fault(command: string[], input: JsonValue) {
  const made = programArgv({ command }, input);
  if (made.ok) throw new Error(`made ${made.argv.join(" ")}`);
  return made.fault;
}

describe("a command's arguments", () => {
  it("take the place of whole elements only [FR-EXE-06]", () => {
    expect(argv(["grep", "-n", "{what}", "x{what}", "{what}y"], { what: "a b" })).toEqual([
      "grep",
      "-n",
      "a b",
      "x{what}",
      "{what}y",
    ]);
    expect(argv(["p", "{n}", "{yes}", "{zero}"], { n: 1.5, yes: true, zero: -0 })).toEqual([
      "p",
      "1.5",
      "true",
      "0",
    ]);
  });

  it("are left out when they were not given", () => {
    expect(argv(["p", "{a}", "{b...}", "{c}", "end"], { c: null })).toEqual(["p", "end"]);
    expect(argv(["p", "{toString}", "{constructor}"], {})).toEqual(["p"]);
    expect(argv(["p", "{a}"], "no object")).toEqual(["p"]);
    expect(argv(["p", "{a}"], { a: "" })).toEqual(["p", ""]);
  });

  it("of a list become one element each", () => {
    expect(argv(["p", "{files...}"], { files: ["a", 2, false, ""] })).toEqual(["p", "a", "2", "false", ""]);
    expect(argv(["p", "{files...}"], { files: [] })).toEqual(["p"]);
  });

  it("are text for the program, whatever a shell would make of them", () => {
    const nasty = "$(id); `id` && | > < * ? ' \" \\ \n";
    expect(argv(["p", "{a}"], { a: nasty })).toEqual(["p", nasty]);
    expect(argv(["p", "{a}"], { a: "--force" })).toEqual(["p", "--force"]);
    expect(argv(["p", "{a}"], { a: "{b}", b: "x" })).toEqual(["p", "{b}"]);
  });

  it.each<[string, JsonValue, RegExp]>([
    ["an object", { a: {} }, /^a: must be a string/],
    ["a list in a scalar place", { a: [1] }, /^a: must be a string/],
    ["a scalar in a list's place", { list: "x" }, /^list: must be a list/],
    ["a list in a list", { list: [[1]] }, /^list\[0\]: must be/],
    ["null in a list", { list: [null] }, /^list\[0\]: must be/],
    ["a NUL character", { a: "x\0y" }, /NUL/],
    ["half a character", { a: "\ud800" }, /half a character/],
    ["too long an argument", { a: "x".repeat(131_072) }, /longer than 131071/],
    ["too many arguments", { list: new Array(20).fill("x".repeat(100_000)) }, /together/],
  ])("%s is refused as wrong input", (_name, input, message) => {
    expect(fault(["p", "{a}", "{list...}"], input)).toMatchObject({
      kind: "threw",
      invalidInput: true,
      message: expect.stringMatching(message),
    });
  });

  it("never make an argument the program", () => {
    expect(fault(["{program}", "rm"], {})).toMatchObject({ message: "the command names no program" });
    expect(fault(["{program}", "rm"], { program: "" })).toMatchObject({
      message: "the command names no program",
    });
    expect(fault([], {})).toMatchObject({ message: "the command names no program" });
    expect(argv(["{program}", "x"], { program: "ls" })).toEqual(["ls", "x"]);
  });

  it("never become anything but a list of clean strings, or wrong input", () => {
    const elements = array(constantFrom("p", "{a}", "{b...}", "{c}", "--"));
    const inputs = dictionary(constantFrom("a", "b", "c"), jsonValue());
    assert(
      property(string({ minLength: 1 }), elements, inputs, (program, rest, input) => {
        const made = programArgv({ command: [`p${program}`, ...rest] }, input as JsonValue);
        if (!made.ok) return made.fault.kind === "threw" && made.fault.invalidInput === true;
        return made.argv[0] === `p${program}` && made.argv.slice(1).every((text) => !text.includes("\0"));
      }),
    );
  });
});
