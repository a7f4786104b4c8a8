import type { OutputSize } from "@sallyport/adapters/spill";
import { sizeText } from "../../cli/parse-size.ts";
import { type Forgotten, forget, outputOf } from "./forget.ts";
import type { Kept } from "./kept-in.ts";
import { removeOrphans } from "./orphans.ts";
import { EVERY_ONE, staleOnes } from "./stale.ts";

const DAY_MS = 86_400_000;
/** A transaction that erases few conversations ends soon. */
const TOGETHER = 10;
/** Nobody waits longer than about this for a chat to open; what is left goes the next time. */
const BUDGET_MS = 2_000;

/** How long things stay; 0 is for ever. */
export interface Retention {
  conversationDays: number;
  outputBytes: number;
}

export interface Tidying {
  rules: Retention;
  /** The conversation that is being resumed. */
  spare?: string | undefined;
  now: () => number;
}

interface Chore extends Tidying {
  goOn: () => boolean;
}

/**
 * Removes what is older than the rules say, for a couple of seconds at most, and says what it did, a line for each kind.
 * Never rejects: what could not be done is one of the lines.
 */
export async function tidyUp(kept: Kept, tidying: Tidying): Promise<string[]> {
  const end = tidying.now() + BUDGET_MS;
  const chore = { ...tidying, goOn: () => tidying.now() < end };
  const lines: string[] = [];
  for (const does of [removeStale, removeNobodys, removeTooMuch]) {
    try {
      lines.push(...(await does(kept, chore)));
    } catch (error) {
      lines.push(`! Tidying up did not succeed, and is tried again next time: ${wordsOf(error)}`);
    }
  }
  return lines;
}

async function removeStale(kept: Kept, { rules, spare, now, goOn }: Chore): Promise<string[]> {
  const { conversationDays: days } = rules;
  if (days === 0) return [];
  const stale = await staleOnes(kept.conversations, { before: now() - days * DAY_MS, spare });
  const ids = stale.map(({ conversationId }) => conversationId);
  const forgotten: Forgotten[] = [];
  let at = 0;
  for (; at < ids.length && goOn(); at += TOGETHER) {
    forgotten.push(...(await forget(kept, ids.slice(at, at + TOGETHER))));
  }
  const left = ids.length - Math.min(at, ids.length);
  const problem = forgotten.find((one) => one.problem !== undefined)?.problem;
  return [
    ...(forgotten.length > 0 ? [staleText(forgotten, { days, left })] : []),
    ...(problem === undefined ? [] : [`! Some of the output could not be removed: ${wordsOf(problem)}`]),
  ];
}

function staleText(forgotten: readonly Forgotten[], { days, left }: { days: number; left: number }): string {
  const { files, bytes } = outputOf(forgotten);
  const what = forgotten.length === 1 ? "1 conversation" : `${forgotten.length} conversations`;
  const output = files === 0 ? "" : `, with ${outputText({ files, bytes })}`;
  const more = left === 0 ? "" : ` ${left} more will go the next time.`;
  return `Removed ${what} not used for ${days} days (loop.keep_conversations_days)${output}.${more}`;
}

async function removeNobodys(kept: Kept, { now, goOn }: Chore): Promise<string[]> {
  const gone = await removeOrphans(kept, { now: now(), goOn });
  return gone.files === 0 ? [] : [`Removed ${outputText(gone)} of conversations that are gone.`];
}

async function removeTooMuch({ conversations, output }: Kept, chore: Chore): Promise<string[]> {
  const { rules, spare, goOn } = chore;
  if (rules.outputBytes === 0) return [];
  const outlines = await conversations.keeping.outlines({ limit: EVERY_ONE });
  const open = outlines.filter(({ hasOpenBatch }) => hasOpenBatch).map((one) => one.conversationId);
  const spared = spare === undefined ? open : [...open, spare];
  const gone = await output.shrink({ maxBytes: rules.outputBytes, spare: spared, goOn });
  if (gone.files === 0) return [];
  const most = sizeText(rules.outputBytes);
  return [`Removed the oldest ${outputText(gone)}: no more than ${most} is kept (loop.keep_output_mb).`];
}

function outputText({ files, bytes }: OutputSize): string {
  return `${files} kept output${files === 1 ? "" : "s"} (${sizeText(bytes)})`;
}

function wordsOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
