import { readFileSync, writeFileSync } from "node:fs";
import { renderErrorsDoc } from "../packages/protocol/src/errors/errors-doc.ts";

const DOC = new URL("../docs/errors.md", import.meta.url);

/** The file as it is, or nothing when it was never written. */
function current(): string | undefined {
  try {
    return readFileSync(DOC, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  }
}

function main(args: readonly string[]): number {
  const wanted = renderErrorsDoc();
  if (!args.includes("--check")) {
    writeFileSync(DOC, wanted);
    return 0;
  }
  if (current() === wanted) return 0;
  console.error(
    "docs/errors.md does not match the error catalogue; run: node scripts/generate-errors-doc.ts",
  );
  return 1;
}

process.exitCode = main(process.argv.slice(2));
