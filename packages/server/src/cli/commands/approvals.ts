import { Command } from "commander";
import type { Io } from "../io.ts";
import { approveCommand, denyCommand, editCommand } from "./approvals-answer.ts";
import { listCommand, showCommand, watchCommand } from "./approvals-look.ts";

const HELP = `
A call that needs approval waits, durably, until a person answers; nothing runs and nothing times out silently.
  $ sallyport approvals list                       what waits
  $ sallyport approvals show ID                    show everything about one approval
  $ sallyport approvals approve ID --run           say yes, and run the call now
  $ sallyport approvals approve ID --always exact  say yes to every call like this one from now on
  $ sallyport approvals deny ID --reason "wrong account"
  $ sallyport approvals edit ID '{"amount":10}'    say yes to other arguments
  $ sallyport approvals watch                      see questions come in and be answered`;

/** `sallyport approvals`: the questions to people, and their answers. */
export function approvalsCommand(io: Io, finish: (code: number) => void): Command {
  const command = new Command("approvals")
    .description("list and answer calls that wait for approval")
    .addHelpText("after", HELP);
  command.addCommand(listCommand(io));
  command.addCommand(showCommand(io));
  command.addCommand(approveCommand(io, finish));
  command.addCommand(denyCommand(io));
  command.addCommand(editCommand(io, finish));
  command.addCommand(watchCommand(io));
  return command;
}
