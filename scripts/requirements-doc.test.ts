import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";

const PREFIX = "(?:D|R[123]|MCXP?|N?FR|CFG|AX|L3|L3P2|T|IT|X)";
/** Where tests are. */
const FOLDERS = ["packages", "workers", "test", "scripts"];
const CITED = new RegExp(`\\[(${PREFIX}-[A-Za-z0-9.-]*[A-Za-z0-9])\\]`, "g");
const ROW = new RegExp(`^\\| (${PREFIX}-[A-Za-z0-9.-]+) \\|`, "gm");

function idsIn(text: string, pattern: RegExp): string[] {
  return Array.from(text.matchAll(pattern), ([, id]) => id ?? "");
}

it("docs/requirements.md has a row for every ID that a test cites, and no other", () => {
  const files = execFileSync("git", ["ls-files", "-co", "--exclude-standard", ...FOLDERS]);
  const tests = files
    .toString()
    .split("\n")
    .filter(
      (file) => /\.test\.ts$|^test\/.*\.ts$|\/(testing|fixtures)\/.*\.ts$/.test(file) && existsSync(file),
    );
  const cited = new Set(tests.flatMap((file) => idsIn(readFileSync(file, "utf8"), CITED)));
  const rows = idsIn(readFileSync("docs/requirements.md", "utf8"), ROW);
  expect(cited.size).toBeGreaterThan(100);
  expect(rows.toSorted()).toEqual([...cited].sort());
});
