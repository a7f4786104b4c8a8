import { createInterface } from "node:readline/promises";
import type { Engine } from "@sallyport/engine";
import type { ConversationOutline, Conversations } from "@sallyport/loop";
import { failure, SallyportError } from "@sallyport/protocol";
import { Command } from "commander";
import { EVERY_ONE, forget, type Kept } from "../../chat/keeping/index.ts";
import { must } from "../../must.ts";
import { EXIT } from "../exit-codes.ts";
import type { Io } from "../io.ts";
import { visible } from "../io.ts";
import { type CommonOptions, Session, withCommonOptions } from "../session.ts";
import { outlineTable } from "./conversations-look.ts";
import { holdingFolder, holdingRuntime, inConversations } from "./conversations-opened.ts";
import { findConversation } from "./find-conversation.ts";
import { type Removal, settled } from "./removal.ts";
import { removalDocument, removalText } from "./removal-text.ts";

interface DeleteOptions extends CommonOptions {
  yes?: boolean;
  force?: boolean;
}

interface Deleting {
  session: Session;
  force: boolean;
}

/** `conversations delete` */
export function deleteCommand(io: Io, finish: (code: number) => void): Command {
  const command = new Command("delete")
    .description("remove conversations for good, with the long output kept for them")
    .argument("<conversation...>", "ids, their beginnings, or last")
    .option("--yes", "without asking; needed where there is no terminal")
    .option(
      "--force",
      "also one with an open batch: its calls get no result, and open questions are withdrawn",
    );
  return withCommonOptions(command).action(async (wanted: string[], options: DeleteOptions) => {
    const session = new Session(options, io);
    const chosen = await inConversations(session, (kept) => choose(wanted, kept));
    refuseOpen(chosen, options);
    if (!options.yes && !(await isAgreed(chosen, session))) {
      session.output.note("Nothing was deleted.");
      return finish(EXIT.cancelled);
    }
    const removal = await deleted(chosen, { session, force: options.force === true });
    session.output.result(removalDocument(removal), () => removalText(removal, { verb: "Deleted" }));
    const left = stayed(chosen, removal);
    for (const line of left) session.output.note(visible(line));
    if (left.length > 0) finish(EXIT.toolFailed);
  });
}

/** All of them or, when one cannot be found, none. */
async function choose(wanted: readonly string[], { conversations }: Kept): Promise<ConversationOutline[]> {
  const all = await conversations.keeping.outlines({ limit: EVERY_ONE });
  const chosen = new Set<ConversationOutline>();
  for (const one of wanted) {
    const found = must(findConversation(one, all));
    chosen.add(found);
  }
  return [...chosen];
}

function refuseOpen(chosen: readonly ConversationOutline[], { force }: DeleteOptions): void {
  const open = force ? undefined : chosen.find(({ hasOpenBatch }) => hasOpenBatch);
  if (!open) return;
  const message = `The conversation ${open.conversationId} has an open batch: calls wait, or were interrupted. Nothing was deleted.`;
  const advice = `Finish it with: sallyport chat --resume ${open.conversationId}; or delete it all the same with --force.`;
  throw new SallyportError(failure("E3958", { message, advice }));
}

async function isAgreed(chosen: readonly ConversationOutline[], session: Session): Promise<boolean> {
  if (session.output.json || !session.io.stdin.isTTY) {
    const message = "Nobody can be asked whether to delete.";
    throw new SallyportError(failure("E3921", { message, advice: "Add --yes if you are sure." }));
  }
  session.output.note(outlineTable(chosen, Date.now()));
  const what = chosen.length === 1 ? "this conversation" : `these ${chosen.length} conversations`;
  return await isYes(`Delete ${what} for good? [y]es, [n]o: `, session.io);
}

/** Those chosen were looked at before the folder was held: without --force one that has an open batch by now stays. */
async function deleted(chosen: readonly ConversationOutline[], work: Deleting): Promise<Removal> {
  const { session, force } = work;
  const ids = chosen.map(({ conversationId }) => conversationId);
  const remove = async (kept: Kept) => {
    return settled(kept, { forgotten: await forget(kept, ids, { openToo: force }), outlines: chosen });
  };
  if (!force) return await holdingFolder(session, () => inConversations(session, remove));
  return await holdingRuntime(session, (engine) =>
    inConversations(session, async (kept) => {
      await withdrawCalls(ids, { engine, conversations: kept.conversations });
      return await remove(kept);
    }),
  );
}

/** Says which are still there, if any. */
function stayed(chosen: readonly ConversationOutline[], { gone }: Removal): string[] {
  const went = new Set(gone.map(({ conversationId }) => conversationId));
  const left = chosen.filter(({ conversationId }) => !went.has(conversationId));
  return left.map(
    ({ conversationId }) => `! ${conversationId} was not deleted: it is in use by now, or gone already.`,
  );
}

/** Calls of open batches that wait for a person would wait for nothing once their conversation is gone. */
async function withdrawCalls(
  conversationIds: readonly string[],
  { engine, conversations }: { engine: Engine; conversations: Conversations },
): Promise<void> {
  for (const conversationId of conversationIds) {
    const batch = await conversations.journal.openOf(conversationId);
    for (const { callId } of batch?.calls ?? []) {
      const standing = callId === undefined ? undefined : await engine.standing(callId);
      if (callId === undefined || standing?.status !== "pending_approval") continue;
      await engine.cancelCall(callId, { reason: "the conversation was deleted" });
    }
  }
}

/** Asks on stderr. The end of the input, or Ctrl-C, is no answer, and no answer is a no. */
async function isYes(question: string, { stdin, stderr }: Io): Promise<boolean> {
  const lines = createInterface({ input: stdin, output: stderr });
  const ended = new AbortController();
  lines.once("close", () => ended.abort());
  try {
    const answer = (await lines.question(question, { signal: ended.signal })).trim().toLowerCase();
    return answer === "y" || answer === "yes";
  } catch (error) {
    if (!ended.signal.aborted) throw error;
    stderr.write("\n");
    return false;
  } finally {
    lines.close();
  }
}
