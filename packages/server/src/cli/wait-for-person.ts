import { isUnspent, standingAt } from "@sallyport/engine/host";
import type { Store } from "@sallyport/engine/ports";
import type { CallAnswer } from "@sallyport/protocol";
import { must } from "../must.ts";
import { askHere } from "./ask-here.ts";
import { questionText } from "./commands/approvals-look.ts";
import { interrupted } from "./interrupted.ts";
import type { Session } from "./session.ts";

const LOOK_EVERY_MS = 250;

/**
 * Waits until a call's approval is answered, then goes on with the call. At a terminal the person there is asked;
 * otherwise somebody else answers. The server is closed meanwhile, so that they can. Ctrl-C gives up waiting: the call
 * stays on record as waiting, and its pending answer is returned.
 */
export async function waitForPerson(pending: CallAnswer, session: Session): Promise<CallAnswer> {
  const { signal, done } = interrupted();
  let answer = pending;
  try {
    while (answer.status === "pending_approval" && !signal.aborted) {
      const approvalId = answer.approval?.approvalId;
      if (approvalId === undefined) return answer;
      await answered(approvalId, { session, signal });
      if (!signal.aborted) answer = await resumeOnce(answer.callId, session, signal);
    }
    return answer;
  } finally {
    done();
  }
}

async function answered(
  approvalId: string,
  { session, signal }: { session: Session; signal: AbortSignal },
): Promise<void> {
  const elsewhere = new AbortController();
  const isInteractive = session.io.stdin.isTTY === true && session.io.stderr.isTTY === true;
  if (!isInteractive || session.output.json) {
    session.output.note(`Waiting for approval ${approvalId} (sallyport approvals approve ${approvalId}) …`);
    return await decidedElsewhere(approvalId, { session, signal });
  }
  const stop = AbortSignal.any([signal, elsewhere.signal]);
  const watching = decidedElsewhere(approvalId, { session, signal: stop });
  const asking = askHere(approvalId, { session, signal: stop });
  try {
    await Promise.race([watching, asking]);
  } finally {
    elsewhere.abort();
    await Promise.allSettled([watching, asking]);
  }
}

async function decidedElsewhere(
  approvalId: string,
  { session, signal }: { session: Session; signal: AbortSignal },
): Promise<void> {
  const isDecided = async (store: Store) => {
    const record = await store.approvals.get(approvalId);
    return !record || standingAt(record, Date.now()).state !== "pending";
  };
  await session.looking(isDecided, { everyMs: LOOK_EVERY_MS, signal });
}

/** Goes on with a call once, without waiting. Throws the reason when there is nothing to go on with. */
export async function resumeOnce(
  callId: string,
  session: Session,
  signal?: AbortSignal,
): Promise<CallAnswer> {
  await showEdited(callId, session);
  return must(
    await session.withEngine((desk) =>
      desk.resume(callId, { disclosure: "full", ...(signal && { signal }) }),
    ),
  );
}

/** Shows what runs in place of what was asked for. Nobody is asked again: whoever changed it has said yes to it. */
async function showEdited(callId: string, session: Session): Promise<void> {
  const record = await session.reading((store) => store.approvals.ofCall(callId));
  if (record?.editedBy === undefined || !isUnspent(standingAt(record, Date.now()))) return;
  session.output.note(`The arguments were changed. This runs:\n${questionText(record, Date.now())}`);
}
