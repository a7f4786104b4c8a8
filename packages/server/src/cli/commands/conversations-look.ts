import type { ConversationOutline } from "@sallyport/loop";
import { isFailure, SallyportError } from "@sallyport/protocol";
import { Command, InvalidArgumentError } from "commander";
import { EVERY_ONE } from "../../chat/keeping/index.ts";
import { relativeText } from "../duration-text.ts";
import { type Io, table } from "../io.ts";
import { type CommonOptions, Session, withCommonOptions } from "../session.ts";
import { conversationDocument, outlineDocument } from "./conversation-document.ts";
import { conversationText } from "./conversation-text.ts";
import { inConversations } from "./conversations-opened.ts";
import { findConversation } from "./find-conversation.ts";

const MAX_ROWS = 1_000;
const TITLE_CHARS = 40;

interface ListOptions extends CommonOptions {
  limit: number;
  all?: boolean;
}

/** `conversations list` */
export function listCommand(io: Io): Command {
  const command = new Command("list")
    .description("list conversations, last used first")
    .option("--limit <rows>", `maximum number of rows, 1 to ${MAX_ROWS}`, rows, 20)
    .option("--all", "no limit on rows");
  return withCommonOptions(command).action(async (options: ListOptions) => {
    const session = new Session(options, io);
    const limit = options.all ? EVERY_ONE : options.limit;
    const found = await inConversations(session, ({ conversations }) =>
      conversations.keeping.outlines({ limit: Math.min(EVERY_ONE, limit + 1) }),
    );
    const shown = found.slice(0, limit);
    session.output.result(shown.map(outlineDocument), () => outlineTable(shown, Date.now()));
    if (found.length > limit) session.output.note(`There are more than ${limit}: --all shows every one.`);
  });
}

function rows(text: string): number {
  const count = Number(text);
  if (Number.isInteger(count) && count >= 1 && count <= MAX_ROWS) return count;
  throw new InvalidArgumentError(`a whole number from 1 to ${MAX_ROWS}`);
}

/** Conversations for a person. */
export function outlineTable(outlines: readonly ConversationOutline[], now: number): string {
  const header = ["CONVERSATION", "STARTED", "LAST USED", "MESSAGES", "OPEN", "BEGAN WITH"];
  const lines = outlines.map((one) => [
    one.conversationId,
    relativeText(one.createdAt, now),
    relativeText(one.updatedAt, now),
    String(one.turns),
    one.hasOpenBatch ? "open" : "-",
    shortened(one.title),
  ]);
  return table([header, ...lines], "No conversation yet. Begin one: sallyport chat --model ollama/qwen3");
}

/** By whole characters. */
function shortened(title: string): string {
  const characters = [...title];
  return characters.length <= TITLE_CHARS ? title : `${characters.slice(0, TITLE_CHARS - 1).join("")}…`;
}

/** `conversations show` */
export function showCommand(io: Io): Command {
  const command = new Command("show")
    .description("show one conversation and the outcome of each tool call")
    .argument("<conversation>", "id, its beginning, or last")
    .option("--full", "whole results, not only their first lines");
  return withCommonOptions(command).action(
    async (wanted: string, options: CommonOptions & { full?: boolean }) => {
      const session = new Session(options, io);
      const shown = await inConversations(session, async ({ conversations, output }) => {
        const found = findConversation(wanted, await conversations.keeping.outlines({ limit: EVERY_ONE }));
        if (isFailure(found)) throw new SallyportError(found);
        const { conversationId: id } = found;
        return {
          outline: found,
          turns: await conversations.turns(id),
          batch: await conversations.journal.openOf(id),
          output: await output.sizeOf(id),
        };
      });
      const look = { full: options.full === true, now: Date.now(), style: session.output };
      session.output.result(conversationDocument(shown), () => conversationText(shown, look));
    },
  );
}
