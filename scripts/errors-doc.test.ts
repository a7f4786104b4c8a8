import { readFileSync } from "node:fs";
import { CATALOGUE } from "@sallyport/protocol";
import { describe, expect, it } from "vitest";
import { renderErrorsDoc } from "./errors-doc.ts";

const DOC = new URL("../docs/errors.md", import.meta.url);

describe("docs/errors.md", () => {
  it("is what the catalogue says now (else run: npm run docs)", () => {
    expect(readFileSync(DOC, "utf8")).toBe(renderErrorsDoc());
  });

  it.each(Object.keys(CATALOGUE))("lists %s once with its meaning and once with its dialects", (code) => {
    expect(renderErrorsDoc().split(`\n| ${code} |`)).toHaveLength(3);
  });
});
