import { createSchemaCompiler, decodeManifest } from "@sallyport/engine/host";
import { isFailure } from "@sallyport/protocol";
import { describe, expect, it } from "vitest";
import { searchTools } from "./search-tools.ts";

const compiler = createSchemaCompiler();

function manifest(id: string, more: object = {}) {
  const operations = { run: { description: "does it", inputSchema: {} } };
  const plain = {
    id,
    version: "1.0.0",
    name: id,
    description: "-",
    sideEffects: "none",
    operations,
    ...more,
  };
  const decoded = decodeManifest(plain, compiler);
  if (!decoded.ok) throw new Error(JSON.stringify(decoded.failure));
  expect(isFailure(decoded.manifest)).toBe(false);
  return decoded.manifest;
}

const TOOLS = [
  manifest("file.read", { description: "Reads a file of the workspace", tags: ["files"] }),
  manifest("weather", { description: "Says what the weather will be", tags: ["forecast"] }),
  manifest("sendMail", { description: "Sends a letter, with files if need be" }),
];

const found = (query: string) => searchTools(TOOLS, query).map(({ id }) => id);

describe("searchTools", () => {
  it("finds tools by what they are called, tagged and said to do, the best first [L3-API-2]", () => {
    expect(found("weather")).toEqual(["weather"]);
    expect(found("forecast")).toEqual(["weather"]);
    expect(found("files")).toEqual(["file.read", "sendMail"]);
    expect(found("letter")).toEqual(["sendMail"]);
  });

  it("reads names of code as words, in any case, and their beginnings", () => {
    expect(found("MAIL")).toEqual(["sendMail"]);
    expect(found("weath")).toEqual(["weather"]);
  });

  it("finds nothing for words that are nowhere, or none", () => {
    expect(found("zebra")).toEqual([]);
    expect(found("?! ,")).toEqual([]);
  });
});
