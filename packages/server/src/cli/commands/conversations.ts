import { Command } from "commander";
import { forget, hasConversations, type Kept, removeOrphans, staleOnes } from "../../chat/keeping/index.ts";
import { lengthText } from "../duration-text.ts";
import type { Io } from "../io.ts";
import { parseLength } from "../parse-length.ts";
import { type CommonOptions, Session, withCommonOptions } from "../session.ts";
import { deleteCommand } from "./conversations-delete.ts";
import { listCommand, showCommand } from "./conversations-look.ts";
import { holdingFolder, inConversations } from "./conversations-opened.ts";
import { NO_REMOVAL, type Removal, settled, tried } from "./removal.ts";
import { removalDocument, removalText } from "./removal-text.ts";

const HELP = `
An id may be shortened to its beginning, as long as only one conversation begins so; "last" is the one used last.
  $ sallyport conversations list                           the last used first
  $ sallyport conversations show ID                        what was said, and what became of each tool call
  $ sallyport conversations delete ID                      with the long output kept for it
  $ sallyport conversations prune --older-than 30d --dry-run
  $ sallyport chat --resume ID                             go on with one

A chat that opens removes what was not used for loop.keep_conversations_days (90). The record of calls is not touched.`;

/** `sallyport conversations`: what was said with models in this state folder, and how it goes. */
export function conversationsCommand(io: Io, finish: (code: number) => void): Command {
  const command = new Command("conversations")
    .description("look at conversations with models, and remove them")
    .addHelpText("after", HELP);
  command.addCommand(listCommand(io));
  command.addCommand(showCommand(io));
  command.addCommand(deleteCommand(io, finish));
  command.addCommand(pruneCommand(io));
  return command;
}

interface PruneOptions extends CommonOptions {
  olderThan: number;
  dryRun?: boolean;
}

/** `conversations prune` */
function pruneCommand(io: Io): Command {
  const command = new Command("prune")
    .description("remove conversations that were not used for a while, except those with an open batch")
    .requiredOption("--older-than <time>", "not used for so long, such as 30d or 12h", parseLength)
    .option("--dry-run", "only list what would be removed");
  return withCommonOptions(command).action(async (options: PruneOptions) => {
    const session = new Session(options, io);
    const before = Date.now() - options.olderThan;
    const isDry = options.dryRun === true || !hasConversations(session.config.stateFolder);
    const work = (kept: Kept) => (isDry ? wouldGo(kept, before) : pruned(kept, before));
    const removal = isDry
      ? await inConversations(session, work)
      : await holdingFolder(session, () => inConversations(session, work));
    const look = { verb: isDry ? "Would remove" : "Removed", none: noneOlder(options.olderThan) };
    session.output.result({ dryRun: options.dryRun === true, ...removalDocument(removal) }, () =>
      removalText(removal, look),
    );
  });
}

function noneOlder(ms: number): string {
  return `No conversation was last used more than ${lengthText(ms)} ago.`;
}

async function wouldGo({ conversations, output }: Kept, before: number): Promise<Removal> {
  const gone: Removal["gone"] = [];
  for (const { conversationId, turns: messages } of await staleOnes(conversations, { before })) {
    gone.push({ conversationId, messages, output: await output.sizeOf(conversationId) });
  }
  return { ...NO_REMOVAL, gone };
}

async function pruned(kept: Kept, before: number): Promise<Removal> {
  const outlines = await staleOnes(kept.conversations, { before });
  const ids = outlines.map(({ conversationId }) => conversationId);
  const removal = await settled(kept, { forgotten: await forget(kept, ids), outlines });
  const orphans = await tried(() => removeOrphans(kept, { now: Date.now() }), NO_REMOVAL.nobodys);
  return { ...removal, nobodys: orphans.value, problems: [...removal.problems, ...orphans.problems] };
}
