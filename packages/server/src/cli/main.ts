import { type Failure, failure, SallyportError } from "@sallyport/protocol";
import { Command, CommanderError, Help, type Option } from "commander";
import { refusedFile } from "../runtime/own-folder.ts";
import { VERSION } from "../version.ts";
import { approvalsCommand } from "./commands/approvals.ts";
import { auditCommand } from "./commands/audit.ts";
import { callCommand } from "./commands/call.ts";
import { callsCommand } from "./commands/calls.ts";
import { chatCommand } from "./commands/chat.ts";
import { configCommand } from "./commands/config.ts";
import { conformanceCommand } from "./commands/conformance.ts";
import { conversationsCommand } from "./commands/conversations.ts";
import { demoCommand } from "./commands/demo.ts";
import { devCommand } from "./commands/dev.ts";
import { doctorCommand } from "./commands/doctor.ts";
import { domainCommand } from "./commands/domain.ts";
import { eventsCommand } from "./commands/events.ts";
import { gatewayCommand } from "./commands/gateway.ts";
import { grantsCommand } from "./commands/grants.ts";
import { initCommand } from "./commands/init.ts";
import { keysCommand } from "./commands/keys.ts";
import { policyCommand } from "./commands/policy.ts";
import { runCommand } from "./commands/run.ts";
import { serveCommand } from "./commands/serve.ts";
import { tokenCommand } from "./commands/token.ts";
import { toolsCommand } from "./commands/tools.ts";
import { undoCommand } from "./commands/undo.ts";
import { workerCommand } from "./commands/worker.ts";
import { EXIT, exitCodeOf } from "./exit-codes.ts";
import { hint } from "./invoked-as.ts";
import { type Io, Output } from "./io.ts";
import { failureText } from "./render-answer.ts";

const INTRODUCTION = `
Sallyport runs tool calls for AI agents. Each call is validated, authorised, run isolated and in a transaction,
committed or rolled back, and kept on record.

Start here:
  $ sallyport demo                                             run one call and print each state
  $ sallyport init && sallyport serve                          start a server with an example tool
  $ sallyport call calculator --operation add '{"a":2,"b":3}'  make one call
  $ sallyport run -- npm test                                  run a command isolated and show its changes
  $ sallyport chat --model ollama/qwen3 --mode enabled         chat with a model that can use tools
  $ sallyport tools list                                       list the tools
  $ sallyport approvals list                                   list calls that wait for approval
  $ sallyport audit verify                                     check the record`;

const processIo = (): Io => ({
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  cwd: process.cwd(),
});

/** Runs one command line and resolves with its exit code; every error has become a message by then. */
export async function main(argv: string[], io: Io = processIo()): Promise<number> {
  let code: number = EXIT.success;
  const finish = (result: number) => {
    code = result;
  };
  try {
    await program(io, finish).parseAsync(argv, { from: "user" });
    return code;
  } catch (error) {
    return explain(error, argv, io);
  }
}

function program(io: Io, finish: (code: number) => void): Command {
  const commands = [
    initCommand,
    serveCommand,
    gatewayCommand,
    devCommand,
    domainCommand,
    callCommand,
    runCommand,
    chatCommand,
    conversationsCommand,
    undoCommand,
    toolsCommand,
    workerCommand,
    callsCommand,
    approvalsCommand,
    grantsCommand,
    policyCommand,
    tokenCommand,
    keysCommand,
    auditCommand,
    eventsCommand,
    configCommand,
    conformanceCommand,
    doctorCommand,
    demoCommand,
  ];
  const root = new Command("sallyport")
    .description("guarded tool calls for AI agents")
    .version(VERSION)
    .addHelpText("after", INTRODUCTION);
  for (const make of commands) root.addCommand(make(io, finish));
  return withManners(root, io);
}

/** No command exits the process or writes past the given streams; a misspelt word gets a suggestion. */
function withManners(command: Command, io: Io): Command {
  command
    .exitOverride()
    .showSuggestionAfterError()
    .showHelpAfterError("(add --help for usage)")
    .configureHelp({ optionDescription })
    .configureOutput({
      writeOut: (text) => void io.stdout.write(hint(text)),
      writeErr: (text) => void io.stderr.write(hint(text)),
    });
  for (const child of command.commands) withManners(child, io);
  return command;
}

const HELP = new Help();
/** A default that tells a reader nothing: an empty list, or a length of time in milliseconds. */
const EMPTY_DEFAULT = / \(default: (?:\[\]|\d{4,})\)$/;

function optionDescription(option: Option): string {
  const text = HELP.optionDescription(option).replace(EMPTY_DEFAULT, "");
  return option.mandatory ? `${text} (required)` : text;
}

/** What the system refuses, a person can put right; anything else that is not ours is a defect. */
function failureOf(error: unknown): Failure {
  if (error instanceof SallyportError) return error.failure;
  const advice = "Report this with the command and the text above: it is a defect of Sallyport.";
  return refusedFile(error) ?? failure("E3900", { message: String(error), advice });
}

function explain(error: unknown, argv: string[], io: Io): number {
  // What comes after -- are words for another command.
  const own = argv.includes("--") ? argv.slice(0, argv.indexOf("--")) : argv;
  const output = new Output(io, own.includes("--json"));
  if (error instanceof CommanderError) {
    if (error.exitCode === 0) return EXIT.success;
    const misused = failure("E3921", { message: error.message.replace(/^error: /, "") });
    // For a person commander has said it already.
    if (output.json) output.result({ status: "error", error: misused }, () => "");
    return EXIT.badUsage;
  }
  const failed = failureOf(error);
  if (output.json) output.result({ status: "error", error: failed }, () => "");
  else output.note(failureText(failed, output));
  return exitCodeOf(failed);
}
