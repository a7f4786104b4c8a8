import { timerMs, visible } from "@sallyport/engine/host";
import type { ApprovalCause } from "@sallyport/engine/ports";
import {
  entryOf,
  type Failure,
  type FileEffects,
  isFailure,
  type JsonValue,
  type Risk,
} from "@sallyport/protocol";
import { raceAbort } from "./event-channel.ts";
import { failureText } from "./results.ts";
import type { LoopTool } from "./tools.ts";

/** A call as the model asked for it. */
export interface AskedFor {
  index: number;
  id: string;
  name: string;
  /** JSON text, or whatever the model sent instead. */
  arguments: string;
}

interface PlannedCommon {
  index: number;
  id: string;
  name: string;
  /** At most 200 characters. */
  summary: string;
  risk: Risk;
}

/** What is to become of a call (FR-APR-02): it runs, a person is asked, or it is answered already and nothing runs. */
export type PlannedCall = PlannedCommon &
  (
    | { kind: "execute"; tool: LoopTool; input: JsonValue }
    | {
        kind: "confirm";
        tool: LoopTool;
        input: JsonValue;
        because: ApprovalCause;
        /** The tools of the calls of the batch that run before it. */
        after: readonly LoopTool[];
        /** What it would change as things stand, where its tool can tell. */
        preview?: FileEffects;
      }
    /** The reason is what the model is told. */
    | { kind: "resolved"; error: Failure; reason: string }
  );

const LONGEST_SUMMARY = 200;
const ELLIPSIS = "...";

/** A call that does not run, with what is known of it so far. */
export function resolved(
  call: Pick<AskedFor, "index" | "id" | "name">,
  error: Failure,
  known: { summary?: string; risk?: Risk } = {},
): PlannedCall {
  const { index, id, name } = call;
  const summary = known.summary === undefined ? namedSummary(name) : shortSummary(known.summary);
  return {
    kind: "resolved",
    index,
    id,
    name,
    summary,
    risk: known.risk ?? "low",
    error,
    reason: failureText(error, name).content,
  };
}

/** For a call of which no more is known than what it is called. */
export function namedSummary(name: string): string {
  return shortSummary(visible(name.slice(0, LONGEST_SUMMARY)));
}

/** At most 200 characters, 197 and dots where there were more (FR-APR-06). No character is split. */
export function shortSummary(text: string): string {
  if (text.length <= LONGEST_SUMMARY) return text;
  const room = LONGEST_SUMMARY - ELLIPSIS.length;
  return text.slice(0, room).replace(/[\ud800-\udbff]$/, "") + ELLIPSIS;
}

/** How long a tool may take to say what a call would change; afterwards the person is asked without. */
const PREVIEW_MS = 10_000;

interface PreviewOptions {
  conversationId: string;
  previewMs?: number;
}

type Confirmed = Extract<PlannedCall, { kind: "confirm" }>;

/**
 * Tries out, one after the other, the calls a person is to be asked about. What its tool would refuse as things stand is
 * answered with that, unless a call that runs before it may mend it; of the others the person sees what they would
 * change. Never rejects.
 */
export async function previewBatch(
  planned: readonly PlannedCall[],
  context: PreviewOptions,
): Promise<PlannedCall[]> {
  const previewed: PlannedCall[] = [];
  const before: LoopTool[] = [];
  for (const call of planned) {
    const next = call.kind === "confirm" ? await preview({ ...call, after: [...before] }, context) : call;
    if (next.kind !== "resolved") before.push(next.tool);
    previewed.push(next);
  }
  return previewed;
}

async function preview(call: Confirmed, context: PreviewOptions): Promise<PlannedCall> {
  const { summary, risk } = call;
  const said = await previewOf(call, call.input, context);
  if (!said) return call;
  if (!isFailure(said)) return { ...call, preview: said };
  return mayBeMended(said, call.after) ? call : resolved(call, said, { summary, risk });
}

/** Why the call, with these arguments instead of its own, would fail for certain; undefined when it may go well. */
export async function certainRefusal(
  call: Pick<Confirmed, "tool" | "after">,
  input: JsonValue,
  context: PreviewOptions,
): Promise<Failure | undefined> {
  const said = await previewOf(call, input, context);
  return said && isFailure(said) && !mayBeMended(said, call.after) ? said : undefined;
}

/** Undefined when the tool cannot tell, or not in time: then the person is asked all the same. */
async function previewOf(
  { tool }: Pick<Confirmed, "tool">,
  input: JsonValue,
  { conversationId, previewMs = PREVIEW_MS }: PreviewOptions,
): Promise<FileEffects | Failure | undefined> {
  try {
    return await raceAbort(tool.preview?.(input, conversationId), AbortSignal.timeout(timerMs(previewMs)));
  } catch {
    return undefined;
  }
}

/** A call that changes things may mend anything; one that only reads may be the read that was missing. */
function mayBeMended(error: Failure, before: readonly LoopTool[]): boolean {
  return before.some(({ sideEffects }) => sideEffects || entryOf(error).srd === "StaleFile");
}
