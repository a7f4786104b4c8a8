import { existsSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";

const PROOF = /`([\w/.-]+\.ts)` "([^"]+)"/g;

it("docs/guarantees.md names tests that exist, and one at least for each promise and fault [X-9]", () => {
  const page = readFileSync("docs/guarantees.md", "utf8");
  const missing = Array.from(page.matchAll(PROOF), ([, path = "", title = ""]) => {
    const file = path.startsWith("test/") ? path : `packages/${path}`;
    return existsSync(file) && readFileSync(file, "utf8").includes(title) ? "" : `${file} "${title}"`;
  });
  expect(missing.filter(Boolean)).toEqual([]);
  const rows = page
    .split("\n")
    .filter((line) => line.startsWith("| ") && !/^\| (promise|fault) \|/.test(line));
  expect(rows.length).toBeGreaterThan(20);
  expect(rows.filter((row) => !/`[\w/.-]+\.ts`/.test(row.split(" | ").at(-1) ?? ""))).toEqual([]);
});
