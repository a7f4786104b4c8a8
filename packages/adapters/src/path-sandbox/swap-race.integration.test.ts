import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { isFailure } from "@sallyport/protocol";
import { afterAll, describe, expect, it } from "vitest";
import { STOP, SWAPS, type Swap } from "./fixtures/swapping-worker.ts";
import { openPathSandbox } from "./index.ts";

const base = realpathSync(mkdtempSync(join(tmpdir(), "sallyport-race-")));
const root = join(base, "root");
afterAll(() => rmSync(base, { recursive: true, force: true }));

const INSIDE = "inside";
const OUTSIDE = "outside";
const TRIES = 2_000;
const MOST_MS = 30_000;
const PATHS = ["folder/file.txt", "folder/deep/file.txt", "file.txt"];
const SWAPPED: Swap[] = [
  { now: "folder", link: "folder-link", kept: "folder-kept" },
  { now: "file.txt", link: "file-link", kept: "file-kept" },
];

function plant(): void {
  for (const [place, content] of [
    ["root", INSIDE],
    ["outside", OUTSIDE],
  ] as const) {
    mkdirSync(join(base, place, "folder/deep"), { recursive: true });
    for (const path of PATHS) writeFileSync(join(base, place, path), content);
  }
  symlinkSync(join(base, "outside/folder"), join(root, "folder-link"));
  symlinkSync(join(base, "outside/file.txt"), join(root, "file-link"));
}

function startSwapping() {
  const counters = new SharedArrayBuffer(8);
  const worker = new Worker(new URL("./fixtures/swapping-worker.ts", import.meta.url), {
    workerData: { root, swaps: SWAPPED, counters },
  });
  const ended = new Promise<void>((done, failed) => worker.once("exit", () => done()).once("error", failed));
  const view = new Int32Array(counters);
  return {
    swaps: () => Atomics.load(view, SWAPS),
    stop: () => {
      Atomics.store(view, STOP, 1);
      return ended;
    },
  };
}

const sandboxes = () => [
  openPathSandbox({ roots: [root] }),
  openPathSandbox({ roots: [root], caseInsensitive: true }),
];

/** One try of a reader that is not careful, to show that the race is there to be lost. */
async function carelessRead(path: string): Promise<string> {
  return readFile(join(root, path), "utf8").catch(() => "nothing");
}

describe("a folder or file swapped for a link between check and use", () => {
  it("never gives content from outside [FR-VAL-06] [NFR-SEC-02]", { timeout: 120_000 }, async () => {
    plant();
    const [strict, byName] = sandboxes();
    const swapping = startSwapping();
    const seen = { [INSIDE]: 0, [OUTSIDE]: 0, refused: 0, careless: 0 };
    const until = Date.now() + MOST_MS;
    let tries = 0;
    try {
      while (swapping.swaps() === 0 && Date.now() < until) await new Promise((done) => setTimeout(done, 10));
      // Which moment a try meets is random: go on, within bounds, until every kind was seen.
      const isShort = () => swapping.swaps() <= 100 || !seen[INSIDE] || !seen.refused || !seen.careless;
      for (; (tries < TRIES || isShort()) && Date.now() < until; tries += 1) {
        const path = PATHS[tries % PATHS.length] ?? "";
        const sandbox = tries % 5 === 4 ? byName : strict;
        if ((await carelessRead(path)) === OUTSIDE) seen.careless += 1;
        const checked = await sandbox?.check(path);
        if (!checked || isFailure(checked)) seen.refused += 1;
        else {
          const opened = await sandbox?.openChecked(checked);
          if (!opened || isFailure(opened)) seen.refused += 1;
          else {
            const content = await opened.readFile("utf8").finally(() => opened.close());
            seen[content === INSIDE ? INSIDE : OUTSIDE] += 1;
          }
        }
      }
    } finally {
      await swapping.stop();
    }
    expect(seen[OUTSIDE]).toBe(0);
    expect(swapping.swaps()).toBeGreaterThan(100);
    expect(seen[INSIDE]).toBeGreaterThan(0);
    expect(seen.refused).toBeGreaterThan(0);
    expect(seen.careless).toBeGreaterThan(0);
    expect(tries >= TRIES || Date.now() >= until).toBe(true);
    console.log(`${tries} tries against ${swapping.swaps()} swaps: ${JSON.stringify(seen)}`);
  });
});
