import { applyPatch as applyLp1, isLp1Problem, parsePatch } from "@sallyport/loop/lp1";
import { applyPatch, createTwoFilesPatch } from "diff";

const FILE_BYTES = 2 ** 20;
const OPERATIONS = 100;
const ROUNDS = Number(process.env.SALLYPORT_BENCH_ROUNDS ?? 3) * 5;

/** Milliseconds of this thread, the best of rounds that take turns: whatever disturbs only ever adds. */
export interface Lp1Reading {
  /** Reading the patch and running it. */
  lp1Ms: number;
  /** The same edit as a unified diff, parsed and applied by the `diff` package. */
  diffMs: number;
  /** How many times as long LP1 takes; below 1 it is the faster. */
  ofDiff: number;
}

interface Edit {
  before: string;
  after: string;
  lp1: string;
}

/** Measures 100 replacements in a file of 1 MiB, each of two lines by three. */
export function measureLp1(): Lp1Reading {
  const { before, after, lp1 } = edit();
  const unified = createTwoFilesPatch("a", "a", before, after);
  const bytes = Buffer.from(before);
  let [lp1Ms, diffMs] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  for (let round = 0; round < ROUNDS; round += 1) {
    lp1Ms = Math.min(
      lp1Ms,
      timed(after, () => byLp1(bytes, lp1)),
    );
    diffMs = Math.min(
      diffMs,
      timed(after, () => Buffer.from(applyPatch(bytes.toString("utf8"), unified) || "")),
    );
  }
  return { lp1Ms, diffMs, ofDiff: lp1Ms / diffMs };
}

/** Measures and prints; the aim is at most 30 ms. */
export function printLp1(): Lp1Reading {
  const reading = measureLp1();
  const { lp1Ms, diffMs, ofDiff } = reading;
  console.log(
    `LP1: 1 MiB, ${OPERATIONS} operations: ${lp1Ms.toFixed(1)} ms (aim: ≤ 30); unified diff by diff: ${diffMs.toFixed(1)} ms; × diff ${ofDiff.toFixed(2)}`,
  );
  return reading;
}

function byLp1(bytes: Buffer, text: string): Buffer {
  const patch = parsePatch(text);
  if (isLp1Problem(patch)) throw new Error(patch.message);
  const outcome = applyLp1(patch, { keyOf: (path) => path, read: () => bytes });
  const [file] = outcome.kind === "applied" ? outcome.files : [];
  if (file?.kind !== "modified") throw new Error("the benchmark's own patch does not apply");
  return file.content;
}

function timed(after: string, work: () => Buffer): number {
  const began = process.threadCpuUsage();
  const content = work();
  const { user, system } = process.threadCpuUsage(began);
  if (content.toString("utf8") !== after) throw new Error("the edit came out wrong");
  return (user + system) / 1_000;
}

/** Every second pair of lines ends in one that is everywhere, as source code does. */
function edit(): Edit {
  const lines: string[] = [];
  for (let index = 0, bytes = 0; bytes < FILE_BYTES; index += 1) {
    lines.push(`  const value${index} = compute(${index % 97});`, "  }");
    bytes += `  const value${index} = compute(${index % 97});\n  }\n`.length;
  }
  const step = Math.floor(lines.length / OPERATIONS / 2) * 2;
  const rows: string[] = [];
  const after = [...lines];
  for (let index = OPERATIONS - 1; index >= 0; index -= 1) {
    const at = index * step;
    const fresh = [`  const changed${index} = 1;`, "  // more", "  }"];
    rows.push("R", ...lines.slice(at, at + 2), ".", ...fresh, ".");
    after.splice(at, 2, ...fresh);
  }
  return {
    before: `${lines.join("\n")}\n`,
    after: `${after.join("\n")}\n`,
    lp1: ["LP1", "F a", ...rows, "END"].join("\n"),
  };
}

if (import.meta.main) printLp1();
