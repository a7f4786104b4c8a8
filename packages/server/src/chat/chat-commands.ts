import type { CallRecord, ListPlace } from "@sallyport/engine/ports";
import { loopVerdict, TOOLS_MODES } from "@sallyport/loop";
import { type FileEffect, isFailure, nearestName } from "@sallyport/protocol";
import { hint } from "../cli/invoked-as.ts";
import { type ChatCommands, standingScopesFor } from "../tui/index.ts";
import type { OpenChat } from "./open-chat.ts";

const PAGE = 50;
/** How far back is looked for a call that changed files. */
const PAGES = 20;

/** Takes back what the last call of the conversation did to files that is not taken back yet; lines that say so. */
async function undoLast(chat: OpenChat): Promise<string[]> {
  for await (const record of callsOf(chat)) {
    const { answer } = record.closing ?? {};
    if (answer?.status !== "success" || !changedFiles(answer.effects)) continue;
    const undone = await chat.runtime.engine.undo(record.callId, { by: chat.caller.user ?? "operator" });
    const what = `${record.tool} (call ${record.callId})`;
    if (!isFailure(undone)) return [`Took back ${what}:`, ...undone.effects.files.map(lineOf)];
    if (undone.details?.reason === "already_undone") continue;
    return [`${what} was not taken back: ${undone.message}`, ...conflictsOf(undone.details), undone.advice];
  }
  return ["No call of this conversation changed files that could be taken back."];
}

/** The calls of a conversation, the newest first. */
async function* callsOf({ runtime, caller, conversation }: OpenChat): AsyncGenerator<CallRecord> {
  const { tenant, agent } = caller;
  let before: ListPlace | undefined;
  for (let page = 0; page < PAGES; page += 1) {
    const found = await runtime.store.calls.list({ tenant, agent, limit: PAGE, ...(before && { before }) });
    yield* found.filter(({ session }) => session === conversation.id);
    const last = found.at(-1);
    before = last && { at: last.startedAt, id: last.callId };
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

const SHOWN = 20;

const STATES = {
  disabled: "disabled",
  denylisted: "denied",
  not_allowlisted: "denied",
  ask: "asks",
  allow: "allowed",
} as const;

/** What the slash commands do, over an open chat. */
export function chatCommandsOf(chat: OpenChat): ChatCommands {
  const { settings, tools, runtime } = chat;
  return {
    async listTools() {
      return tools.map(({ name, description, sideEffects }) => {
        const state = STATES[loopVerdict(settings.policy, { name, sideEffects }).kind];
        return { name, description: firstLine(description), sideEffects, state };
      });
    },
    async listApprovals() {
      const records = await runtime.engine.approvals.list({ limit: SHOWN });
      const asked = records.map(({ standing, tool, summary, approvalId }) => {
        return `${standing.state.padEnd(9)} ${tool}: ${summary} (${approvalId})`;
      });
      return [...asked, ...(await allowedBeforehand(chat))];
    },
    undo: () => undoLast(chat),
    async setMode(wanted) {
      const modes = TOOLS_MODES.join(", ");
      if (wanted === undefined) return [`The mode is ${settings.mode}. There are: ${modes}.`];
      const mode = TOOLS_MODES.find((one) => one === wanted);
      if (!mode) {
        const near = nearestName(wanted, TOOLS_MODES);
        return [`There is no mode ${wanted}${near ? `; did you mean ${near}?` : "."} There are: ${modes}.`];
      }
      settings.mode = mode;
      return [`The mode is ${mode} from the next message on.`];
    },
    standingScopes: standingScopesFor(runtime.config.approvals.grantTier),
  };
}

/** What is further told to a model, such as how to write a patch, would only bury the list. */
function firstLine(description: string): string {
  return description.trim().split("\n", 1)[0] ?? "";
}

/** Every "always" that still holds for this conversation, with how to take it back. */
async function allowedBeforehand({ runtime, caller, conversation }: OpenChat): Promise<string[]> {
  const now = Date.now();
  const grants = await runtime.engine.grants.list();
  return grants.flatMap((grant) => {
    if (grant.kind !== "standing" || grant.revokedAt !== undefined || grant.agent !== caller.agent) return [];
    if (grant.session !== undefined && grant.session !== conversation.id) return [];
    if (grant.expiresAt !== undefined && grant.expiresAt <= now) return [];
    const which = grant.arguments.length === 0 ? "any arguments" : "these arguments";
    return [
      `allowed   ${grant.tool}: ${which} (take back: ${hint(`sallyport grants revoke ${grant.grantId}`)})`,
    ];
  });
}
