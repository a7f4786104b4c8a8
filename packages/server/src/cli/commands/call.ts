import { failure, ON_APPROVAL, type OnApproval, SallyportError } from "@sallyport/protocol";
import { Command, InvalidArgumentError, Option } from "commander";
import { exitCodeOfAnswer } from "../exit-codes.ts";
import { interrupted } from "../interrupted.ts";
import type { Io } from "../io.ts";
import { printAnswer } from "../print-answer.ts";
import { readInput } from "../read-input.ts";
import { readToken } from "../read-token.ts";
import { type CommonOptions, Session, withCommonOptions } from "../session.ts";
import { waitForPerson } from "../wait-for-person.ts";

interface CallOptions extends CommonOptions {
  operation?: string;
  toolVersion?: string;
  idempotencyKey?: string;
  callId?: string;
  timeoutMs?: number;
  tenant?: string;
  agent?: string;
  session?: string;
  token?: string;
  onApproval?: OnApproval;
  requireApproval?: boolean;
  dryRun?: boolean;
  preview?: boolean;
}

const EXAMPLES = `
Examples:
  $ sallyport call calculator --operation add '{"a":2,"b":3}'
  $ sallyport call calculator --operation divide @input.json --json
  $ echo '{"a":1,"b":2}' | sallyport call calculator --operation add -
  $ sallyport call counter --operation increment '{"name":"orders"}' --idempotency-key order-17

A call that needs approval: --on-approval pending (the default) asks and ends with exit code 4; wait asks and waits, at a
terminal by asking you; deny asks nobody. It waits on record: see "sallyport approvals", go on with "sallyport calls resume".

The result goes to stdout, everything else to stderr. Exit codes: 0 success, 1 the tool failed, 2 bad usage or input,
3 denied, 4 approval pending, 5 timeout, 6 cancelled, 70 internal.`;

/** `sallyport call`: one guarded call, from the shell. */
export function callCommand(io: Io, finish: (code: number) => void): Command {
  const command = new Command("call")
    .description("make one guarded tool call")
    .argument("<tool>", "id of the tool")
    .argument("[input]", "input as JSON, @file, or - for standard input (default: {})")
    .option("--operation <name>", "which of the tool's operations (needed when it has several)")
    .option("--tool-version <range>", "exact version or SemVer range (default: the newest)")
    .option(
      "--idempotency-key <key>",
      "answer a repeated request from the record instead of running it again",
    )
    .option("--call-id <id>", "id of the call (default: a new one)")
    .option("--timeout-ms <ms>", "deadline in milliseconds, shorter than the tool's own", milliseconds)
    .option("--tenant <id>", "tenant to call for")
    .option("--agent <id>", "agent to call for")
    .option("--session <id>", "session the call belongs to")
    .option("--token <@file|->", "capability token, from a file or standard input (or SALLYPORT_TOKEN)")
    .option("--require-approval", "ask a person even where the policy would not")
    .option(
      "--preview",
      "if approval is needed, run the call first and show the approver what it would change",
    )
    .option("--dry-run", "run it without network, show its changes and drop them")
    .addOption(new Option("--on-approval <way>", "when a person has to be asked").choices(ON_APPROVAL))
    .addHelpText("after", EXAMPLES);
  return withCommonOptions(command).action(
    async (tool: string, input: string | undefined, options: CallOptions) => {
      finish(await call({ tool, input, options }, io));
    },
  );
}

function milliseconds(text: string): number {
  const ms = Number(text);
  if (!Number.isInteger(ms) || ms < 1)
    throw new InvalidArgumentError("a whole number of milliseconds, at least 1");
  return ms;
}

async function call(
  line: { tool: string; input: string | undefined; options: CallOptions },
  io: Io,
): Promise<number> {
  const { tool, options } = line;
  const session = new Session(options, io);
  const { output } = session;
  if (line.input === "-" && options.token === "-") {
    const message = "Standard input cannot be both the input and the token.";
    const advice = "Give one of them as @file.";
    throw new SallyportError(failure("E3921", { message, advice }));
  }
  const input = await readInput(line.input, io);
  const token = await readToken(options.token, io);
  const onApproval = options.onApproval ?? session.config.approvals.onApproval;
  const answer = await session.withEngine((desk) =>
    interruptible((signal) =>
      desk.call({
        tool,
        input,
        caller: session.caller(options),
        signal,
        disclosure: "full",
        // Waiting is done here, outside the server: others can write to it meanwhile.
        onApproval: onApproval === "deny" ? "deny" : "pending",
        ...(token !== undefined && { token }),
        ...(options.requireApproval && { requireApproval: true }),
        ...(options.dryRun && { dryRun: true }),
        ...(options.preview && { preview: true }),
        ...(options.operation !== undefined && { operation: options.operation }),
        ...(options.toolVersion !== undefined && { version: options.toolVersion }),
        ...(options.idempotencyKey !== undefined && { idempotencyKey: options.idempotencyKey }),
        ...(options.callId !== undefined && { callId: options.callId }),
        ...(options.timeoutMs !== undefined && { limits: { timeoutMs: options.timeoutMs } }),
      }),
    ),
  );
  const waits = onApproval === "wait" && answer.status === "pending_approval";
  const final = waits ? await waitForPerson(answer, session) : answer;
  printAnswer(final, output);
  return exitCodeOfAnswer(final);
}

/** Ctrl-C cancels the call, which then ends as cancelled, on record. */
async function interruptible<Result>(run: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
  const { signal, done } = interrupted();
  try {
    return await run(signal);
  } finally {
    done();
  }
}
