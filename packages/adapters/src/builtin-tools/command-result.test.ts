import { describe, expect, it } from "vitest";
import { commandResultText } from "./command-result.ts";

const result = (stdout: string, stderr: string, more = {}) => ({ exitCode: 0, stdout, stderr, ...more });

describe("what a model is told of a command", () => {
  it.each([
    [result("out\n", ""), "out\n"],
    [result("out\n", " \n\t"), "out\n"],
    [result("out\n", "warned\n"), "out\n\n\n[stderr]\nwarned\n"],
    [result("", "warned"), "\n\n[stderr]\nwarned"],
    [result("/w==", "", { encoding: "base64" }), "[binary:base64]\n/w=="],
    ["already text", "already text"],
  ])("%j is %j [FR-TOOL-CMD-01]", (given, text) => {
    expect(commandResultText(given)).toBe(text);
  });
});
