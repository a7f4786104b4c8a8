import { scaledRuns } from "@sallyport/engine/testing";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { checkWorkloads, type WorkloadEnd } from "./testing/check-workload.ts";
import { type Workload, workload } from "./testing/random-workload.ts";
import { inCopy, inOverlay, inProcess, type ViewWorker } from "./testing/view-workers.ts";

/*
 * Random trees and random work on them, in each of the three ways, then kept, dropped, taken back or undone: the tree is
 * afterwards what the same work makes of a plain folder, or exactly what it was. Many sequences share one view, each in
 * a folder of its own; a failing one is printed with its seed.
 */

const RUNS = scaledRuns(300);

interface Share {
  worker: ViewWorker;
  /** Of all sequences. */
  share: number;
  /** Sequences in one view. */
  batch: number;
}

const SHARES: Share[] = [
  { worker: inProcess, share: 0.4, batch: 5 },
  { worker: inCopy, share: 0.3, batch: 10 },
  { worker: inOverlay, share: 0.3, batch: 20 },
];
const ENDS: WorkloadEnd[] = ["keep", "keep", "rollback applied", "rollback staged", "undo"];

/** The sequence that the first difference is in. */
function blamed(wrong: readonly string[], workloads: readonly Workload[]): string {
  const [, index] = /^"s(\d+)\//.exec(wrong[0] ?? "") ?? [];
  return JSON.stringify(index === undefined ? workloads : workloads[Number(index)]);
}

describe("random work on files", () => {
  it.each(SHARES)(
    "leaves what it would leave in a plain folder, or nothing at all ($worker.name) [R1-4.3] [R1-7.2]",
    async ({ worker, share, batch }) => {
      const numRuns = Math.max(1, Math.ceil((RUNS * share) / batch));
      const batches = fc.array(workload, { minLength: batch, maxLength: batch });
      let sequences = 0;
      await fc.assert(
        fc.asyncProperty(batches, fc.constantFrom(...ENDS), async (workloads, end) => {
          sequences += workloads.length;
          const wrong = await checkWorkloads({ worker, workloads, end });
          expect(wrong, `${end}: ${blamed(wrong, workloads)}`).toEqual([]);
        }),
        // Making a failing batch smaller would take longer than reading the one sequence it is about.
        { numRuns, endOnFailure: true },
      );
      console.log(`${worker.name}: ${sequences} sequences`);
      expect(sequences).toBeGreaterThanOrEqual(Math.floor(RUNS * share));
    },
    1_800_000,
  );
});
