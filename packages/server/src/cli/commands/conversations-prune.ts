import { Command } from "commander";
import { forget, hasConversations, type Kept, removeOrphans, staleOnes } from "../../chat/keeping/index.ts";
import { lengthText } from "../duration-text.ts";
import type { Io } from "../io.ts";
import { parseLength } from "../parse-length.ts";
import { type CommonOptions, Session, withCommonOptions } from "../session.ts";
import { holdingFolder, inConversations } from "./conversations-opened.ts";
import { NO_REMOVAL, type Removal, settled, tried } from "./removal.ts";
import { removalDocument, removalText } from "./removal-text.ts";

interface PruneOptions extends CommonOptions {
  olderThan: number;
  dryRun?: boolean;
}

/** `conversations prune` */
export function pruneCommand(io: Io): Command {
  const command = new Command("prune")
    .description("remove conversations not used for a while; never one with an open batch")
    .requiredOption("--older-than <time>", "not used for so long, such as 30d or 12h", parseLength)
    .option("--dry-run", "only say what would go");
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
