import { entryOf, type Failure, type FileEffects, isFailure, type JsonValue } from "@sallyport/protocol";
import type { LoopTool } from "./loop-tool.ts";
import { type PlannedCall, resolved } from "./planned-call.ts";
import { orAborted } from "./while-wanted.ts";

/** How long a tool may take to say what a call would change; afterwards the person is asked without. */
const REHEARSAL_MS = 10_000;

interface Rehearsing {
  conversationId: string;
  rehearsalMs?: number;
}

type Confirmed = Extract<PlannedCall, { kind: "confirm" }>;

/**
 * Tries out, one after the other, the calls a person is to be asked about. What its tool would refuse as things stand is
 * answered with that, unless a call that runs before it may mend it; of the others the person sees what they would
 * change. Never rejects.
 */
export async function rehearseBatch(
  planned: readonly PlannedCall[],
  around: Rehearsing,
): Promise<PlannedCall[]> {
  const rehearsed: PlannedCall[] = [];
  const before: LoopTool[] = [];
  for (const call of planned) {
    const next = call.kind === "confirm" ? await rehearse({ ...call, after: [...before] }, around) : call;
    if (next.kind !== "resolved") before.push(next.tool);
    rehearsed.push(next);
  }
  return rehearsed;
}

async function rehearse(call: Confirmed, around: Rehearsing): Promise<PlannedCall> {
  const { summary, risk } = call;
  const said = await previewOf(call, call.input, around);
  if (!said) return call;
  if (!isFailure(said)) return { ...call, preview: said };
  return mayBeMended(said, call.after) ? call : resolved(call, said, { summary, risk });
}

/** Why the call, with these arguments instead of its own, would fail for certain; undefined when it may go well. */
export async function certainRefusal(
  call: Pick<Confirmed, "tool" | "after">,
  input: JsonValue,
  around: Rehearsing,
): Promise<Failure | undefined> {
  const said = await previewOf(call, input, around);
  return said && isFailure(said) && !mayBeMended(said, call.after) ? said : undefined;
}

/** Undefined when the tool cannot tell, or not in time: then the person is asked all the same. */
async function previewOf(
  { tool }: Pick<Confirmed, "tool">,
  input: JsonValue,
  { conversationId, rehearsalMs = REHEARSAL_MS }: Rehearsing,
): Promise<FileEffects | Failure | undefined> {
  try {
    return await orAborted(tool.preview?.(input, conversationId), AbortSignal.timeout(rehearsalMs));
  } catch {
    return undefined;
  }
}

/** A call that changes things may mend anything; one that only reads may be the read that was missing. */
function mayBeMended(error: Failure, before: readonly LoopTool[]): boolean {
  return before.some(({ sideEffects }) => sideEffects || entryOf(error).srd === "StaleFile");
}
