import { Command, InvalidArgumentError } from "commander";
import { exitCodeOfAnswer } from "../exit-codes.ts";
import { type Io, visible } from "../io.ts";
import { readInput } from "../read-input.ts";
import { answerDocument, answerSummary, failureText } from "../render-answer.ts";
import { type CommonOptions, Session, withCommonOptions } from "../session.ts";

interface CallOptions extends CommonOptions {
  operation?: string;
  toolVersion?: string;
  idempotencyKey?: string;
  callId?: string;
  timeoutMs?: number;
  tenant?: string;
  agent?: string;
}

const EXAMPLES = `
Examples:
  $ sallyport call calculator --operation add '{"a":2,"b":3}'
  $ sallyport call calculator --operation divide @input.json --json
  $ echo '{"a":1,"b":2}' | sallyport call calculator --operation add -
  $ sallyport call counter --operation increment '{"name":"orders"}' --idempotency-key order-17

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
    .option("--timeout-ms <ms>", "tighter deadline than the tool's own", milliseconds)
    .option("--tenant <id>", "tenant to call for")
    .option("--agent <id>", "agent to call for")
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
  const input = await readInput(line.input, io);
  return await session.inHouse(async ({ engine }) => {
    const answer = await interruptible((signal) =>
      engine.call({
        tool,
        input,
        caller: session.caller(options),
        signal,
        ...(options.operation !== undefined && { operation: options.operation }),
        ...(options.toolVersion !== undefined && { version: options.toolVersion }),
        ...(options.idempotencyKey !== undefined && { idempotencyKey: options.idempotencyKey }),
        ...(options.callId !== undefined && { callId: options.callId }),
        ...(options.timeoutMs !== undefined && { limits: { timeoutMs: options.timeoutMs } }),
      }),
    );
    if (output.json || answer.status === "success") {
      const result = answer.status === "success" ? answer.result : null;
      output.result(answerDocument(answer), () => visible(JSON.stringify(result, null, 2)));
    }
    if (!output.json) output.note(answerSummary(answer, output));
    if (!output.json && answer.status !== "success") output.note(failureText(answer.error, output));
    return exitCodeOfAnswer(answer);
  });
}

/** Ctrl-C cancels the call, which then ends as cancelled, on record. */
async function interruptible<Result>(run: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
  const controller = new AbortController();
  const interrupt = () => controller.abort("interrupted");
  process.once("SIGINT", interrupt);
  process.once("SIGTERM", interrupt);
  try {
    return await run(controller.signal);
  } finally {
    process.off("SIGINT", interrupt);
    process.off("SIGTERM", interrupt);
  }
}
