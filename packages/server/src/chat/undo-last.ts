import type { CallRecord } from "@sallyport/engine";
import { type FileEffect, isFailure } from "@sallyport/protocol";
import type { OpenChat } from "./open-chat.ts";

const PAGE = 50;
/** How far back is looked for a call that changed files. */
const PAGES = 20;

/** Takes back what the last call of the conversation did to files that is not taken back yet; lines that say so. */
export async function undoLast(chat: OpenChat): Promise<string[]> {
  for await (const record of callsOf(chat)) {
    const { answer } = record.closing ?? {};
    if (answer?.status !== "success" || !changedFiles(answer.effects)) continue;
    const undone = await chat.house.engine.undo(record.callId, { by: chat.caller.user ?? "operator" });
    const what = `${record.tool} (call ${record.callId})`;
    if (!isFailure(undone)) return [`Took back ${what}:`, ...undone.effects.files.map(lineOf)];
    if (undone.details?.reason === "already_undone") continue;
    return [`${what} was not taken back: ${undone.message}`, ...conflictsOf(undone.details), undone.advice];
  }
  return ["No call of this conversation changed files that could be taken back."];
}

/** The calls of a conversation, the newest first. */
async function* callsOf({ house, caller, conversation }: OpenChat): AsyncGenerator<CallRecord> {
  const { tenant, agent } = caller;
  let before: string | undefined;
  for (let page = 0; page < PAGES; page += 1) {
    const found = await house.store.calls.list({ tenant, agent, limit: PAGE, ...(before && { before }) });
    yield* found.filter(({ session }) => session === conversation.id);
    before = found.at(-1)?.callId;
    if (found.length < PAGE) return;
  }
}

function changedFiles(effects: { files: readonly unknown[]; omitted: number } | undefined): boolean {
  return effects !== undefined && effects.files.length + effects.omitted > 0;
}

function lineOf({ path, change, from }: FileEffect): string {
  return from === undefined ? `  ${change}: ${path}` : `  ${change}: ${from} → ${path}`;
}

function conflictsOf(details: Readonly<Record<string, unknown>> | undefined): string[] {
  const conflicts: unknown = details?.conflicts;
  if (!Array.isArray(conflicts)) return [];
  return conflicts.map((conflict) => `  ${Object(conflict).path}: ${Object(conflict).what}`);
}
