import type { House } from "./house.ts";

/** A yes sets calls going that nobody waits for. Returns how to stop listening. */
export function followApprovals(house: House): () => void {
  const goOn = async (approvalId: string) => {
    const record = await house.store.approvals.get(approvalId);
    if (record) await house.queue.approved(record);
  };
  return house.bus.subscribe("approvals:updates", ({ approvalId, state }) => {
    if (typeof approvalId !== "string" || (state !== "approved" && state !== "edited")) return;
    goOn(approvalId).catch((error) => house.errors.report({ error, code: "E3914", stage: "approved call" }));
  });
}
