import { execFile } from "node:child_process";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { scaledRuns } from "@sallyport/engine/testing";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { FileOp } from "./testing/file-ops.ts";

const PROGRAM = fileURLToPath(new URL("./testing/as-nobody.ts", import.meta.url));
const RUNS = scaledRuns(20);

interface Findings {
  uid: number;
  sequences: number;
  refused: number;
  wrong: string[];
}

/** Does work on files in a process without rights, in an overlay and in a copy. */
async function asNobody(orders: object): Promise<Findings> {
  const folder = await mkdtemp(join(tmpdir(), "sallyport-nobody-"));
  try {
    await chmod(folder, 0o755);
    const all = JSON.stringify({ folder, runs: 1, batch: 1, seed: fc.readConfigureGlobal().seed, ...orders });
    const { stdout } = await promisify(execFile)(process.execPath, [PROGRAM, all], { maxBuffer: 1e8 });
    return JSON.parse(stdout) as Findings;
  } finally {
    await rm(folder, { recursive: true });
  }
}

describe("random work on files by a user without rights", () => {
  it("leaves what it would leave in a plain folder, or nothing at all (overlay and copy) [R1-4.3] [R1-7.2]", async () => {
    const { uid, sequences, refused, wrong } = await asNobody({ runs: RUNS });
    console.log(`uid ${uid}: ${sequences} sequences, ${refused} refused`);
    expect(wrong).toEqual([]);
    expect(uid).not.toBe(0);
    expect(sequences).toBe(2 * RUNS);
    expect(refused).toBeLessThan(sequences / 2);
  }, 900_000);
});

const TWINS: FileOp[] = [
  { do: "write", path: "a", content: "new" },
  { do: "write", path: "b", content: "old" },
  { do: "touch", path: "a", at: 1_700_000_000 },
  { do: "touch", path: "b", at: 1_700_000_000 },
  { do: "chmod", path: "b", mode: 0 },
];
const CLOSED: FileOp[] = [
  { do: "make folder", path: "n" },
  { do: "make folder", path: "n/o" },
  { do: "write", path: "n/o/p", content: "p", mode: 0o400 },
  { do: "chmod", path: "n/o", mode: 0 },
  { do: "chmod", path: "n", mode: 0 },
];
const OLD: FileOp[] = [
  { do: "make folder", path: "d" },
  { do: "make folder", path: "d/e" },
  { do: "write", path: "d/e/f", content: "f" },
];

describe("work on files by a user without rights", () => {
  const cases: [string, FileOp[], FileOp[]][] = [
    [
      "moves a file over one that may not be read, of the same size and time",
      TWINS,
      [{ do: "move", path: "a", to: "b" }],
    ],
    ["changes the mode of a file that may not be read", TWINS, [{ do: "chmod", path: "b", mode: 0o444 }]],
    ["makes a folder that nobody may open", OLD, CLOSED],
    [
      "closes a folder in which it changed something",
      OLD,
      [
        { do: "append", path: "d/e/f", content: "more" },
        { do: "write", path: "d/e/g", content: "g" },
        { do: "chmod", path: "d/e", mode: 0 },
        { do: "chmod", path: "d", mode: 0 },
      ],
    ],
    [
      "deletes a folder that may not be written",
      [...OLD, { do: "chmod", path: "d/e", mode: 0o500 }],
      [
        { do: "chmod", path: "d/e", mode: 0o700 },
        { do: "delete tree", path: "d" },
      ],
    ],
  ];
  it.each(cases)("%s: it is kept, taken back and undone as a whole [R1-7.2]", async (_, tree, ops) => {
    const ends = ["keep", "rollback applied", "undo"] as const;
    const { uid, refused, wrong } = await asNobody({ fixed: ends.map((end) => [[{ tree, ops }], end]) });
    expect(wrong).toEqual([]);
    expect(refused).toBe(0);
    expect(uid).not.toBe(0);
  });
});
