import type { Failure, FileEffects, JsonValue, Risk } from "@sallyport/protocol";
import { visible } from "../redact/visible.ts";
import type { AskedBecause } from "./call-plan.ts";
import type { LoopTool } from "./loop-tool.ts";
import { failureText } from "./result-text.ts";

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
        because: AskedBecause;
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
