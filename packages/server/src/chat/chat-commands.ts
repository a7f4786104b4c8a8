import { loopVerdict, TOOLS_MODES } from "@sallyport/engine/loop";
import { nearestName } from "@sallyport/protocol";
import { type ChatCommands, standingScopesFor } from "../tui/index.ts";
import type { OpenChat } from "./open-chat.ts";
import { undoLast } from "./undo-last.ts";

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
  const { settings, tools, house } = chat;
  return {
    async listTools() {
      return tools.map(({ name, description, sideEffects }) => {
        const state = STATES[loopVerdict(settings.policy, { name, sideEffects }).kind];
        return { name, description: firstLine(description), sideEffects, state };
      });
    },
    async listApprovals() {
      const records = await house.engine.approvals.list({ limit: SHOWN });
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
    standingScopes: standingScopesFor(house.config.approvals.grantTier),
  };
}

/** What is further told to a model, such as how to write a patch, would only bury the list. */
function firstLine(description: string): string {
  return description.trim().split("\n", 1)[0] ?? "";
}

/** Every "always" that still holds for this conversation, with how to take it back. */
async function allowedBeforehand({ house, caller, conversation }: OpenChat): Promise<string[]> {
  const now = Date.now();
  const grants = await house.engine.grants.list();
  return grants.flatMap((grant) => {
    if (grant.kind !== "standing" || grant.revokedAt !== undefined || grant.agent !== caller.agent) return [];
    if (grant.session !== undefined && grant.session !== conversation.id) return [];
    if (grant.expiresAt !== undefined && grant.expiresAt <= now) return [];
    const which = grant.arguments.length === 0 ? "any arguments" : "these arguments";
    return [`allowed   ${grant.tool}: ${which} (take back: sallyport grants revoke ${grant.grantId})`];
  });
}
