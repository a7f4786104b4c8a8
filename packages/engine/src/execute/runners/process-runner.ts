import { isUtf8 } from "node:buffer";
import { type Isolation, isJsonObject, type JsonValue, namesTwice } from "@sallyport/protocol";
import type {
  Confinement,
  Implementation,
  Job,
  OutputListener,
  ProcessProgram,
  RunFault,
  Runner,
  RunResult,
} from "../../ports/runner.ts";
import type { Sandbox, SandboxEnd, SandboxOrder, SandboxProcess } from "../../ports/sandbox.ts";
import { prepareCall } from "../confinement.ts";
import { type Outcome, type OutcomeLatch, refused } from "./outcome-latch.ts";
import { KeptOutput, outputFault, type ProcessSession, SupervisedCalls } from "./supervise.ts";
import { cleanText, cutText, leftOut, noOperation } from "./tool-result.ts";

/** What holds while there is no sandbox; the one really in force stands on each result. */
const ISOLATION: Isolation = Object.freeze({ level: "LEVEL_0", runner: "process" });

interface ProcessRunnerOptions {
  sandbox: Sandbox;
  /** How long a result waits for a process that was killed and does not end. */
  patienceMs?: number;
}

/**
 * Runs commands, each in a sandbox of its own: started for the call, gone with all its children before the result is out.
 * Environment, folders, hosts and limits are those of the job's confinement and no others.
 */
export function createProcessRunner({ sandbox, patienceMs }: ProcessRunnerOptions): Runner {
  const calls = new SupervisedCalls(patienceMs);
  return {
    kind: "process",
    isolation: ISOLATION,
    isSandboxed: true,
    prepare: (call, rules) => prepareCall(call, rules, "mounted"),
    run: (job) => runCommand(job, { sandbox, calls }),
    close: () => calls.close(),
  };
}

/** Commands, by operation. */
interface CommandImplementation extends Implementation {
  readonly programs: Readonly<Record<string, ProcessProgram>>;
}

function isCommands(implementation: Implementation): implementation is CommandImplementation {
  const { programs } = implementation;
  return typeof programs === "object" && programs !== null;
}

function runCommand(
  job: Job,
  { sandbox, calls }: { sandbox: Sandbox; calls: SupervisedCalls },
): RunResult | Promise<RunResult> {
  const { implementation, confinement } = job;
  if (!isCommands(implementation) || !confinement) {
    return refused({ kind: "died", message: `${job.tool} is not a command with a sandbox` });
  }
  const { programs } = implementation;
  const program = Object.hasOwn(programs, job.operation) ? programs[job.operation] : undefined;
  if (!program) return refused(noOperation(job.tool, job.operation).fault);
  const command = programArgv(program, job.input);
  if (!command.ok) return refused(command.fault);
  const { argv } = command;
  return calls.run(job, async (latch) => {
    const order = await commandOrder(job.facts.executionId, { argv, program, confinement });
    const process = await sandbox.start(order);
    const { outputBytes } = confinement.limits;
    return { process, open: () => openCommand(process, { job, program, latch, outputBytes }) };
  });
}

/** Rejects when the workspace cannot be shown. */
async function commandOrder(
  id: string,
  { argv, program, confinement }: { argv: string[]; program: ProcessProgram; confinement: Confinement },
): Promise<SandboxOrder> {
  const { level, mounts, hidden, egress, limits, bounds, staging, cwd } = confinement;
  const workspace = await staging?.view();
  return {
    ...{ id, level, argv, env: program.env, cwd, mounts, hidden, egress, limits },
    ...(workspace && { workspace }),
    ...(!isData(program) && { isOutputCut: true }),
    ...(bounds && { bounds }),
  };
}

/** The kernel's limit for one argument (MAX_ARG_STRLEN), its end mark included. */
const MAX_ARGUMENT_BYTES = 131_071;
/** Well below what the kernel takes in all, because the sandbox's own arguments come on top. */
const MAX_COMMAND_BYTES = 1_048_576;
const PLACEHOLDER = /^\{([^{}]+?)(\.\.\.)?\}$/;

/**
 * Puts a call's arguments into a command, element by element: never into a shell, and never into part of an element. A value
 * that begins with `-` is passed as it is, and a program may take it for an option: the author's schema, or a `--` before it
 * in the command, is the guard against that.
 */
export function programArgv(
  { command }: Pick<ProcessProgram, "command">,
  input: JsonValue,
): { ok: true; argv: string[] } | { ok: false; fault: RunFault } {
  try {
    const elements = command.map((element) => fill(element, input));
    // One that is left out in the first place would make its neighbour the program.
    if (!elements[0]?.[0]) throw new WrongArgument("the command names no program");
    return { ok: true, argv: checkLength(elements.flat()) };
  } catch (error) {
    if (!(error instanceof WrongArgument)) throw error;
    return { ok: false, fault: { kind: "threw", message: error.message, invalidInput: true } };
  }
}

class WrongArgument extends Error {}

function fill(element: string, input: JsonValue): string[] {
  const [, name, list] = PLACEHOLDER.exec(element) ?? [];
  if (name === undefined) return [element];
  const value = isJsonObject(input) && Object.hasOwn(input, name) ? input[name] : undefined;
  if (value === undefined || value === null) return [];
  if (list === undefined) return [scalarText(name, value)];
  if (!Array.isArray(value)) throw new WrongArgument(`${name}: must be a list`);
  return value.map((item, index) => scalarText(`${name}[${index}]`, item));
}

function scalarText(name: string, value: JsonValue): string {
  if (typeof value === "object") throw new WrongArgument(`${name}: must be a string, a number or a boolean`);
  const text = String(value);
  if (text.includes("\0")) throw new WrongArgument(`${name}: must not contain a NUL character`);
  if (!text.isWellFormed()) throw new WrongArgument(`${name}: must not contain half a character`);
  if (Buffer.byteLength(text) <= MAX_ARGUMENT_BYTES) return text;
  throw new WrongArgument(
    `${name}: is longer than ${MAX_ARGUMENT_BYTES} bytes, the most that one argument can have`,
  );
}

function checkLength(argv: string[]): string[] {
  const bytes = argv.reduce((sum, text) => sum + Buffer.byteLength(text) + 1, 0);
  if (bytes <= MAX_COMMAND_BYTES) return argv;
  throw new WrongArgument(`the arguments are longer than ${MAX_COMMAND_BYTES} bytes together`);
}

/** Of stderr the end is kept: that is where programs say what went wrong. */
const MAX_STDERR_BYTES = 64 * 1_024;
/** The part of a result that stderr may take; escaped as JSON it may grow sixfold. */
const MOST_OF_STDERR = 8;
/** The encoding's name, and the note of what is missing. */
const NOTE_BYTES = 100;
const MAX_FAULT_STDERR_BYTES = 4 * 1_024;

/** A command that was started: whose it is, and how it is read. */
interface Command {
  job: Job;
  program: ProcessProgram;
  latch: OutcomeLatch;
  outputBytes: number;
}

/** Gives a command its input, reads what it prints, and says what its exit code means. */
function openCommand(process: SandboxProcess, command: Command): ProcessSession {
  const { job, program, latch, outputBytes } = command;
  const onExceeded = () => latch.fail(outputFault(outputBytes));
  // Half of data is no data; of a text the beginning is kept, and what the command did (FR-OUT-04).
  const limit = isData(program) && { limit: { bytes: outputBytes, onExceeded } };
  const stdout = new KeptOutput(process.stdout, { maxBytes: outputBytes, keep: "start", ...limit });
  const stderr = new KeptOutput(process.stderr, { maxBytes: MAX_STDERR_BYTES, keep: "end" });
  showOutput(process, job.confinement?.onOutput, outputBytes);
  // A program need not read its input: a closed pipe is no fault.
  process.stdin.on("error", () => undefined);
  process.stdin.end(program.stdin === "json" ? `${JSON.stringify(job.input)}\n` : "");
  return {
    conclude: async (end) => {
      await Promise.all([stdout.closed(), stderr.closed()]);
      return latch.outcome ?? readEnd(end, command, { stdout, stderr });
    },
  };
}

/** Whether what a program prints is its result, and not a text about it. */
function isData({ stdout }: ProcessProgram): boolean {
  return stdout === "json";
}

/** Passes on what is printed, as it comes, up to the limit, with a note when it is reached. A listener that throws gets no more; the call goes on. */
function showOutput(process: SandboxProcess, listener: OutputListener | undefined, maxBytes: number): void {
  if (!listener) return;
  let heard = true;
  let left = maxBytes;
  for (const stream of ["stdout", "stderr"] as const) {
    process[stream].on("data", (chunk: Buffer) => {
      if (!heard) return;
      const shown = chunk.subarray(0, left);
      left -= shown.length;
      try {
        listener(stream, shown);
        if (shown.length === chunk.length) return;
        heard = false;
        listener("stderr", Buffer.from(`\n[what is printed beyond ${maxBytes} bytes is not shown]\n`));
      } catch {
        heard = false;
      }
    });
  }
}

interface Printed {
  stdout: KeptOutput;
  stderr: KeptOutput;
}

function readEnd({ ending }: SandboxEnd, { job, program }: Command, printed: Printed): Outcome {
  const stderr = tailOf(printed.stderr);
  if (ending.kind === "signalled") {
    const message = `it was ended by ${ending.signal}${stderr && `: ${stderr}`}`;
    return { ok: false, fault: { kind: "crashed", message } };
  }
  const code = ending.kind === "exited" ? ending.code : -1;
  if (!program.success.includes(code)) {
    const stdout = tailOf(printed.stdout);
    return { ok: false, fault: { kind: "exit", code, stderr, ...(stdout !== "" && { stdout }) } };
  }
  return isData(program) ? readJson(job, printed) : readText(code, job, printed);
}

function readJson({ maxOutputBytes }: Job, { stdout: { bytes, kept } }: Printed): Outcome {
  if (bytes > maxOutputBytes) return { ok: false, fault: { kind: "output_too_large", bytes } };
  if (!isUtf8(kept)) return notJson("it printed bytes that are no UTF-8");
  try {
    const text = kept.toString("utf8");
    const output: JsonValue = JSON.parse(text);
    return namesTwice(text, output) ? notJson("it names a member twice") : { ok: true, output };
  } catch (error) {
    return notJson(error instanceof Error ? error.message : "it printed something else");
  }
}

/** Cut where it is longer than the call may give: what the command did stands. */
function readText(exitCode: number, { maxOutputBytes: maxBytes }: Job, { stdout, stderr }: Printed): Outcome {
  const kept = stdout.wholeStart();
  const printed = stderr.tailText(Math.min(MAX_STDERR_BYTES, Math.floor(maxBytes / MOST_OF_STDERR)));
  const plain = (text: string): JsonValue => ({ exitCode, stdout: text, stderr: printed });
  const sizeOf = (text: string) => Buffer.byteLength(JSON.stringify(plain(text)));
  const output = isUtf8(kept)
    ? plain(cutText(kept.toString(), { maxBytes, sizeOf, missing: stdout.bytes - kept.length }))
    : inBase64(exitCode, { printed, stdout, room: maxBytes - sizeOf("") });
  const bytes = Buffer.byteLength(JSON.stringify(output));
  return bytes > maxBytes ? { ok: false, fault: { kind: "output_too_large", bytes } } : { ok: true, output };
}

/** Output that is no text (FR-EXE-06). A note of what is missing would be no base64: it stands beside. */
function inBase64(
  exitCode: number,
  { printed, stdout, room }: { printed: string; stdout: KeptOutput; room: number },
): JsonValue {
  const shown = stdout.kept.subarray(0, Math.max(0, Math.floor(((room - NOTE_BYTES) * 3) / 4)));
  const missing = stdout.bytes - shown.length;
  const stderr = missing > 0 ? `${printed}\n${leftOut(missing)}` : printed;
  return { exitCode, stdout: shown.toString("base64"), stderr, encoding: "base64" };
}

function notJson(message: string): Outcome {
  return { ok: false, fault: { kind: "not_json", message: cleanText(message) } };
}

function tailOf(output: KeptOutput): string {
  return cleanText(output.tailText(MAX_FAULT_STDERR_BYTES).trim(), 2 * MAX_FAULT_STDERR_BYTES);
}
