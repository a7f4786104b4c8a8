import { readdirSync, realpathSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { dirname, join, relative, resolve } from "node:path";
import { isFailure } from "@sallyport/protocol";
import fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";
import { HOSTILE_ABSOLUTE, HOSTILE_PATHS, type HostilePath } from "./fixtures/hostile-paths.ts";
import { OUTSIDE, plantHostileTree } from "./fixtures/hostile-tree.ts";
import { type CheckedPath, openPathSandbox, type PathSandbox } from "./index.ts";

const tree = plantHostileTree();
const before = listing();
afterAll(() => tree.remove());

const deniedPatterns = ["secrets/**", "café.secret"];
const plain = openPathSandbox({ roots: [tree.root], deniedPatterns });
const sandboxes = {
  plain,
  folding: openPathSandbox({ roots: [tree.root], deniedPatterns, caseInsensitive: true }),
  absolute: openPathSandbox({ roots: [tree.root], deniedPatterns, allowAbsolute: true }),
  "absolute, folding": openPathSandbox({
    roots: [tree.root],
    deniedPatterns,
    allowAbsolute: true,
    caseInsensitive: true,
  }),
};

/** Node's own recursive listing follows links, which here never ends. */
function listing(folder = tree.base): string[] {
  return readdirSync(folder, { withFileTypes: true })
    .flatMap((entry) => {
      const path = join(folder, entry.name);
      return entry.isDirectory() ? [path, ...listing(path)] : [path];
    })
    .toSorted();
}

function placed(path: string): string {
  return path
    .replaceAll("{root}", tree.root)
    .replaceAll("{base}", tree.base)
    .replaceAll("{outside}", tree.outside);
}

async function outcomeOf(sandbox: PathSandbox, path: string) {
  const answer = await sandbox.check(path);
  if (isFailure(answer)) return { outcome: answer.code, answer };
  return { outcome: answer.exists ? "there" : "new", answer };
}

/** Worked out anew, by other means: where the system itself says that an accepted path leads. */
function realPlace(path: string): string {
  for (let place = resolve(tree.root, path), rest = ""; ; ) {
    try {
      return realpathSync(place) + rest;
    } catch {
      rest = place.slice(dirname(place).length) + rest;
      place = dirname(place);
    }
  }
}

const DENIED_NAME =
  /(^|\/)(\.ssh|\.gnupg|\.aws|\.git|\.env|id_rsa[^/]*)(\/|$)|\.(pem|key)$|^secrets(\/|$)|etc\/shadow/i;

async function expectHarmless(path: string, checked: CheckedPath): Promise<void> {
  const real = realPlace(path);
  const below = relative(tree.root, real);
  expect(below === ".." || below.startsWith("../") || below.startsWith("/"), real).toBe(false);
  expect(below).not.toMatch(DENIED_NAME);
  expect(checked).toMatchObject({ path: real, root: tree.root, relative: below || "." });
  if (checked.type === "file" && below !== "hard-out.txt")
    expect(await readFile(checked.path, "utf8")).not.toContain(OUTSIDE);
}

function proves(name: keyof typeof sandboxes, rows: readonly HostilePath[]) {
  it.each(rows.map((row) => [JSON.stringify(row[0].slice(0, 60)), ...row] as const))(
    `${name}: %s [FR-VAL-04] [NFR-SEC-01] [NFR-SEC-02] [NFR-SEC-03]`,
    async (_shown, template, outcome, why) => {
      const path = placed(template);
      const found = await outcomeOf(sandboxes[name], path);
      expect(found.outcome, why).toBe(outcome);
      if (isFailure(found.answer)) {
        expect(found.answer.message).not.toMatch(/[\p{Cc}\p{Cf}\p{Cs}]/u);
        expect(found.answer.message.length).toBeLessThan(500);
        expect(found.answer.message).not.toContain(OUTSIDE);
        expect(found.answer.message).not.toContain(found.answer.advice);
      } else await expectHarmless(path, found.answer);
    },
  );
}

describe("hostile paths", () => {
  it("are at least 150, each once", () => {
    expect(new Set(HOSTILE_PATHS.map(([path]) => path)).size).toBe(HOSTILE_PATHS.length);
    expect(HOSTILE_PATHS.length).toBeGreaterThanOrEqual(150);
  });

  proves("plain", HOSTILE_PATHS);
  proves("folding", HOSTILE_PATHS);
  proves("absolute", HOSTILE_ABSOLUTE);
  proves("absolute, folding", HOSTILE_ABSOLUTE);

  it("put together at random never lead out or to what is denied [FR-VAL-04] [NFR-SEC-01] [NFR-SEC-02]", async () => {
    const known = [
      "src",
      "in-folder",
      "back",
      "up-two",
      "out-folder",
      "roundabout",
      ".ssh",
      "to-keys",
      "server.pem",
      "nowhere",
      "app.ts",
    ];
    const name = fc.oneof(
      fc.constantFrom(...known, "..", ".", "", "...", ".SSH"),
      fc.string({ maxLength: 3 }),
    );
    let accepted = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(name, { minLength: 1, maxLength: 6 }), async (names) => {
        const path = names.join("/");
        const answer = await plain.check(path);
        if (isFailure(answer)) return;
        accepted += 1;
        await expectHarmless(path, answer);
      }),
    );
    expect(accepted).toBeGreaterThan(10);
  });

  it("leave everything as it was: a check creates nothing [FR-VAL-04]", () => {
    expect(listing()).toEqual(before);
  });
});
