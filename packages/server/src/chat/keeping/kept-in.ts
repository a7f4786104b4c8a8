import { statSync } from "node:fs";
import { join } from "node:path";
import { CONVERSATIONS_FILE } from "@sallyport/adapters/conversations";
import type { SpillKeeping } from "@sallyport/adapters/spill";
import type { Conversations } from "@sallyport/loop";

/** Conversations, and the long output that was kept for them. */
export interface Kept {
  conversations: Conversations;
  output: SpillKeeping;
}

/** Where long output is kept. */
export function outputFolderIn(stateFolder: string): string {
  return join(stateFolder, "output");
}

/** Whether there was ever a conversation in the state folder. */
export function hasConversations(stateFolder: string): boolean {
  return (statSync(join(stateFolder, CONVERSATIONS_FILE), { throwIfNoEntry: false })?.size ?? 0) > 0;
}
