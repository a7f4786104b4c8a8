import { Command } from "commander";
import type { Io } from "../io.ts";
import { deleteCommand } from "./conversations-delete.ts";
import { listCommand, showCommand } from "./conversations-look.ts";
import { pruneCommand } from "./conversations-prune.ts";

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
