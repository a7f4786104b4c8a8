import type { JsonValue } from "@sallyport/protocol";
import type { Job, OutputListener, ProcessProgram } from "../../ports/runner.ts";
import type { SandboxEnd, SandboxProcess } from "../../ports/sandbox.ts";
import { cleanText } from "./describe-thrown.ts";
import type { Decision, Verdict } from "./process-decision.ts";
import type { Attendance } from "./process-life.ts";
import { KeptOutput, outputFault, tailText, textOrBase64 } from "./process-output.ts";

/** Of stderr the end is kept: that is where programs say what went wrong. */
const MAX_STDERR_BYTES = 64 * 1_024;
const MAX_FAULT_STDERR_BYTES = 4 * 1_024;

/** A command that was started: whose it is, and how it is read. */
export interface Command {
  job: Job;
  program: ProcessProgram;
  decision: Decision;
  outputBytes: number;
}

/** Gives a command its input, reads what it prints, and says what its exit code means. */
export function attendCommand(process: SandboxProcess, command: Command): Attendance {
  const { job, program, decision, outputBytes } = command;
  const onExceeded = () => decision.decide({ ok: false, fault: outputFault(outputBytes) });
  const stdout = new KeptOutput(process.stdout, {
    maxBytes: outputBytes,
    keep: "start",
    limit: { bytes: outputBytes, onExceeded },
  });
  const stderr = new KeptOutput(process.stderr, { maxBytes: MAX_STDERR_BYTES, keep: "end" });
  pass(process, job.confinement?.onOutput);
  feed(process, program.stdin === "json" ? `${JSON.stringify(job.input)}\n` : "");
  return {
    conclude: async (end) => {
      await Promise.all([stdout.closed(), stderr.closed()]);
      return decision.verdict ?? readEnd(end, command, { stdout, stderr });
    },
  };
}

/** Hands on what is printed, as it comes. A listener that fails loses the rest, and the call nothing. */
function pass(process: SandboxProcess, listener: OutputListener | undefined): void {
  if (!listener) return;
  let heard = true;
  for (const stream of ["stdout", "stderr"] as const) {
    process[stream].on("data", (chunk: Buffer) => {
      if (!heard) return;
      try {
        listener(stream, chunk);
      } catch {
        heard = false;
      }
    });
  }
}

function feed({ stdin }: SandboxProcess, text: string): void {
  // A program need not read its input: a closed pipe is no fault.
  stdin.on("error", () => undefined);
  stdin.end(text);
}

interface Printed {
  stdout: KeptOutput;
  stderr: KeptOutput;
}

function readEnd({ ending }: SandboxEnd, command: Command, printed: Printed): Verdict {
  if (ending.kind === "signalled") {
    const words = lastWords(printed.stderr);
    return {
      ok: false,
      fault: { kind: "crashed", message: `it was ended by ${ending.signal}${words && `: ${words}`}` },
    };
  }
  const code = ending.kind === "exited" ? ending.code : -1;
  if (!command.program.success.includes(code)) {
    const stdout = lastWords(printed.stdout);
    const stderr = lastWords(printed.stderr);
    return { ok: false, fault: { kind: "exit", code, stderr, ...(stdout !== "" && { stdout }) } };
  }
  return command.program.stdout === "json"
    ? readJson(command.job, printed)
    : readText(code, command.job, printed);
}

function readJson({ maxOutputBytes }: Job, { stdout }: Printed): Verdict {
  const { bytes } = stdout;
  if (bytes > maxOutputBytes) return { ok: false, fault: { kind: "output_too_large", bytes } };
  const { text, encoding } = textOrBase64(stdout.kept);
  if (encoding === "base64") return notJson("it printed bytes that are no UTF-8");
  try {
    return { ok: true, output: JSON.parse(text) };
  } catch (error) {
    return notJson(error instanceof Error ? error.message : "it printed something else");
  }
}

function readText(exitCode: number, { maxOutputBytes }: Job, { stdout, stderr }: Printed): Verdict {
  const { text, encoding } = textOrBase64(stdout.kept);
  const output: JsonValue = {
    exitCode,
    stdout: text,
    stderr: tailText(stderr, MAX_STDERR_BYTES),
    ...(encoding === "base64" && { encoding }),
  };
  const bytes = Buffer.byteLength(JSON.stringify(output));
  return bytes > maxOutputBytes
    ? { ok: false, fault: { kind: "output_too_large", bytes } }
    : { ok: true, output };
}

function notJson(message: string): Verdict {
  return { ok: false, fault: { kind: "not_json", message: cleanText(message) } };
}

function lastWords(stderr: KeptOutput): string {
  return cleanText(tailText(stderr, MAX_FAULT_STDERR_BYTES).trim(), 2 * MAX_FAULT_STDERR_BYTES);
}
