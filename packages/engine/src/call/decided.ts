import { standingAt } from "../approve/settle.ts";
import type { ApprovalRecord } from "../ports/approvals.ts";
import type { House } from "./house.ts";

/** How long a missed message can delay an answer. */
const LOOK_AGAIN_MS = 1_000;

/** Resolves once the approval is no longer pending, or the signal is aborted. Holds nothing while it waits. */
export async function decided(
  approval: ApprovalRecord,
  signal: AbortSignal,
  house: House,
): Promise<ApprovalRecord> {
  let record = approval;
  const nudge = new Nudge();
  const stop = house.bus.subscribe("approvals:updates", ({ approvalId }) => {
    if (approvalId === approval.approvalId) nudge.now();
  });
  const onAbort = () => nudge.now();
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    for (;;) {
      record = (await house.store.approvals.get(approval.approvalId)) ?? record;
      const now = house.clock.now();
      if (signal.aborted || standingAt(record, now).state !== "pending") return record;
      await nudge.within(Math.min(LOOK_AGAIN_MS, Math.max(1, record.expiresAt - now)));
    }
  } finally {
    stop();
    signal.removeEventListener("abort", onAbort);
  }
}

/** A wait that can be cut short; a nudge that comes before the wait counts too. */
class Nudge {
  #due = false;
  #wake: (() => void) | undefined;

  now(): void {
    this.#due = true;
    this.#wake?.();
  }

  async within(ms: number): Promise<void> {
    if (!this.#due) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, ms);
        this.#wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    this.#due = false;
    this.#wake = undefined;
  }
}
