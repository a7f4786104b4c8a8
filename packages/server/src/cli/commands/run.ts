import { existsSync, realpathSync } from "node:fs";
import { resolve } from "node:path";
import type { Engine } from "@sallyport/engine";
import { type CallAnswer, DEFAULT_LIMITS, type Failure, failure, SallyportError } from "@sallyport/protocol";
import { Command, InvalidArgumentError } from "commander";
import { refuseInGateway } from "../../gateway/gateway.ts";
import { must } from "../../must.ts";
import { implementationOf } from "../../runtime/tools.ts";
import { askToCommit } from "../ask-to-commit.ts";
import { effectsText } from "../effects-text.ts";
import { EXIT, exitCodeOfAnswer } from "../exit-codes.ts";
import { interrupted } from "../interrupted.ts";
import { shellWord } from "../invoked-as.ts";
import type { Io, Output } from "../io.ts";
import { parseLength } from "../parse-length.ts";
import { parseSize } from "../parse-size.ts";
import { answerDocument, answerSummary, failureText } from "../render-answer.ts";
import { RUN_TOOL, type RunBounds, runTool } from "../run-tool.ts";
import { type CommonOptions, Session, withCommonOptions } from "../session.ts";

interface RunOptions extends CommonOptions {
  workspace: string | false;
  ro: string[];
  allowHost: { host: string; port?: number }[];
  credential: string[];
  env: [string, string][];
  time: number;
  memory: number;
  cpuTime?: number;
  processes?: number;
  disk?: number;
  output?: number;
  diff?: boolean;
  commit?: boolean;
  dryRun?: boolean;
}

const HELP = `
The command runs fully isolated (LEVEL_2): it sees the system read-only, a private /tmp, and a copy-on-write view of the
workspace. No network but the hosts you allow. What it changed is shown; you decide whether it is kept:
  at a terminal      you are asked, and a yes commits exactly what was shown
  --commit           committed at once if the command succeeds
  --dry-run          dropped, never asked (also what happens without a terminal); no network
Committed changes can be taken back: sallyport undo CALL
What ran is on record in the state folder, which is made when there is none; while a server has it, in a folder within it.

  $ sallyport run -- npm test
  $ sallyport run --diff -- sed -i s/colour/color/ README.md
  $ sallyport run --commit --allow-host registry.example.com:443 -- ./update-packages.sh
  $ sallyport run --no-workspace --time 5s --memory 256M -- python3 -c 'print(6*7)'

Its output goes to stdout and stderr as it comes. Exit code: the command's own, or as in "sallyport call --help".`;

/** `sallyport run`: any command, isolated, with its effects staged. */
export function runCommand(io: Io, finish: (code: number) => void): Command {
  const command = new Command("run")
    .description("run a command in the sandbox and show what it changes")
    .argument("<command...>", "program and arguments, after --")
    .option("--workspace <folder>", "folder it may change (default: this one)", ".")
    .option("--no-workspace", "give it no folder at all")
    .option(
      "--ro <path>",
      "show it this path too, read-only (repeatable)",
      collect<string>((text) => text),
      [],
    )
    .option("--allow-host <host:port>", "let it reach this host (repeatable)", collect(hostAndPort), [])
    .option(
      "--credential <name>",
      "configured credential the proxy may add (repeatable)",
      collect<string>((text) => text),
      [],
    )
    .option("--env <name=value>", "set a variable (repeatable; not for secrets)", collect(variable), [])
    .option("--time <length>", "at most this long", parseLength, 300_000)
    .option("--memory <size>", "at most this much memory", parseSize, DEFAULT_LIMITS.memoryBytes)
    .option("--cpu-time <length>", "at most this much processor time", parseLength)
    .option("--processes <count>", "at most this many processes", count)
    .option("--disk <size>", "at most this much written", parseSize)
    .option("--output <size>", "at most this much printed", parseSize)
    .option("--diff", "show the differences of text files")
    .option("--commit", "keep what it changed, if it succeeds")
    .option("--dry-run", "drop what it changed")
    .addHelpText("after", HELP);
  return withCommonOptions(command).action(async (argv: string[], options: RunOptions) => {
    finish(await run(argv, options, io));
  });
}

async function run(argv: string[], options: RunOptions, io: Io): Promise<number> {
  if (options.commit && options.dryRun) throw misuse("--commit and --dry-run exclude each other.");
  const session = new Session(options, io);
  refuseInGateway(session.config, "`sallyport run`");
  const asks = !options.commit && !options.dryRun && !options.json && isTerminal(io);
  if (!options.commit && !options.dryRun && options.allowHost.length > 0) {
    throw misuse(
      "A command that may reach hosts cannot be tried out first. Add --commit, or --dry-run, which has no network.",
    );
  }
  const { stateFolder } = session.config;
  const isNew = !existsSync(stateFolder);
  const { answer, folder } = await session.inRuntime(
    async ({ engine, config }) => ({
      answer: await inSandbox(engine, { argv, options, asks, session }),
      folder: config.stateFolder,
    }),
    { grants: [GRANT], services: true, mayMove: true },
  );
  const flag = folder === stateFolder ? "" : ` --state-dir ${shellWord(folder)}`;
  tell(answer, { options, session, isShown: asks, undo: `sallyport undo ${answer.callId}${flag}` });
  if (isNew) session.output.note(`What ran is on record in ${stateFolder}, which is new.`);
  return exitCodeFor(answer);
}

const GRANT = {
  id: "this-command-line",
  tools: [RUN_TOOL],
  operations: ["*"],
  agents: ["*"],
  tenants: ["*"],
  capabilities: [],
};

interface Running {
  argv: string[];
  options: RunOptions;
  asks: boolean;
  session: Session;
}

async function inSandbox(engine: Engine, { argv, options, asks, session }: Running): Promise<CallAnswer> {
  const tool = runTool(boundsOf(options, session));
  const implementation = implementationOf(tool, { runner: "script", moduleUrl: "" });
  must(await engine.tools.register(tool.manifest, { implementation, keep: false }));
  const { signal, done } = interrupted();
  try {
    const answer = await engine.call({
      tool: RUN_TOOL,
      input: { command: argv },
      caller: session.caller({}),
      disclosure: "full",
      onApproval: "pending",
      signal,
      ...(asks ? { requireApproval: true, preview: true } : !options.commit && { dryRun: true }),
      ...(!options.json && { onOutput: (stream, chunk) => void session.io[stream].write(chunk) }),
    });
    return asks
      ? await askToCommit(answer, { engine, session, diff: options.diff === true, signal })
      : answer;
  } finally {
    done();
  }
}

function boundsOf(options: RunOptions, { io }: Session): RunBounds {
  const existing = (path: string) => {
    try {
      return realpathSync(resolve(io.cwd, path));
    } catch {
      throw misuse(`There is no ${path}.`);
    }
  };
  return {
    workspace: options.workspace === false ? undefined : existing(options.workspace),
    readable: options.ro.map(existing),
    hosts: options.allowHost,
    credentials: options.credential,
    env: Object.fromEntries(options.env),
    limits: {
      timeoutMs: options.time,
      memoryBytes: options.memory,
      maxOutputBytes: options.output ?? 16 * 1024 * 1024,
      maxProcesses: options.processes ?? 256,
      maxOpenFiles: 1024,
      ...(options.cpuTime !== undefined && { cpuTimeMs: options.cpuTime }),
      ...(options.disk !== undefined && { maxDiskBytes: options.disk }),
    },
  };
}

interface Telling {
  options: RunOptions;
  session: Session;
  /** The person has seen the changes already, when asked about them. */
  isShown: boolean;
  /** The command that takes it back. */
  undo: string;
}

function tell(answer: CallAnswer, { options, session, isShown, undo }: Telling): void {
  const { output } = session;
  if (output.json) {
    output.result(answerDocument(answer), () => "");
    return;
  }
  if (answer.effects && !isShown)
    output.note(effectsText(answer.effects, output, { diff: options.diff === true }));
  output.note(answerSummary(answer, output));
  if (answer.status !== "success") output.note(endText(answer.error, { isShown, output }));
  else if (answer.effects && answer.effects.files.length > 0) output.note(whatBecame(answer, undo));
}

/** Its output came as it was printed, and a person who said no needs no advice. */
function endText(error: Failure, { isShown, output }: { isShown: boolean; output: Output }): string {
  if (isShown && error.code === "E3214") return "Nothing was kept.";
  const { stderr: _said, stdout: _printed, ...details } = error.details ?? {};
  return failureText({ ...error, details }, output);
}

function whatBecame({ dryRun }: CallAnswer, undo: string): string {
  return dryRun ? "Nothing was kept. Add --commit to keep it." : `Committed. To take it back: ${undo}`;
}

/** The command's own exit code where it has one, so that scripts can go by it. */
function exitCodeFor(answer: CallAnswer): number {
  if (answer.status === "success") return EXIT.success;
  const code = answer.error.details?.exitCode;
  return answer.error.code === "E3108" && typeof code === "number" ? code : exitCodeOfAnswer(answer);
}

function isTerminal({ stdin, stderr }: Io): boolean {
  return stdin.isTTY === true && stderr.isTTY === true;
}

function misuse(message: string): SallyportError {
  return new SallyportError(failure("E3921", { message }));
}

function collect<Value>(read: (text: string) => Value) {
  return (text: string, before: Value[]): Value[] => [...before, read(text)];
}

const HOST_AND_PORT = /^(\[[0-9a-f:.]+\]|[^:/\s]+)(?::(\d{1,5}))?$/i;

function hostAndPort(text: string): { host: string; port?: number } {
  const [, host, port] = HOST_AND_PORT.exec(text) ?? [];
  if (host === undefined || Number(port ?? 1) > 65_535 || Number(port ?? 1) < 1) {
    throw new InvalidArgumentError("a host with or without a port, such as api.example.com:443");
  }
  return { host, ...(port !== undefined && { port: Number(port) }) };
}

function variable(text: string): [string, string] {
  const at = text.indexOf("=");
  if (at < 1) throw new InvalidArgumentError("NAME=value");
  return [text.slice(0, at), text.slice(at + 1)];
}

function count(text: string): number {
  const number = Number(text);
  if (Number.isInteger(number) && number > 0) return number;
  throw new InvalidArgumentError("a whole number above 0");
}
