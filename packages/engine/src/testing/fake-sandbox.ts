import { PassThrough, type Readable, type Writable } from "node:stream";
import { type Failure, type Isolation, SallyportError } from "@sallyport/protocol";
import type {
  Sandbox,
  SandboxEnd,
  SandboxEnding,
  SandboxOrder,
  SandboxProcess,
  SandboxUsage,
} from "../ports/sandbox.ts";

/** A process as its own program sees it. */
export interface FakeProcess {
  order: SandboxOrder;
  stdin: Readable;
  stdout: Writable;
  stderr: Writable;
  /** Aborted when the process is killed or has used up its time. */
  signal: AbortSignal;
  /** Ends the process this way, whatever the program still does. */
  end(ending: SandboxEnding): void;
}

/** Stands for the program: gives its exit code. One that throws crashes the sandbox; one that waits for ever runs. */
export type FakeProgram = (process: FakeProcess) => number | Promise<number>;

export interface FakeSandboxOptions {
  usage?: Partial<SandboxUsage>;
  violations?: SandboxEnd["violations"];
  /** Every start is refused with this. */
  refuse?: Failure;
  /** A start takes so long. */
  startMs?: number;
  /** What a kill comes out as, such as a breach found on the way. */
  killedAs?: SandboxEnding;
  /** From the end of the program to `ended`. */
  endMs?: number;
}

export interface FakeSandbox extends Sandbox {
  /** Every order that was started. */
  readonly orders: readonly SandboxOrder[];
  /** How many have not ended. */
  readonly live: number;
}

const ISOLATION: Isolation = Object.freeze({ level: "LEVEL_2", runner: "fake" });

/** A sandbox in memory whose processes are functions: for tests of what stands on the port, never for isolation. */
export function createFakeSandbox(program: FakeProgram, options: FakeSandboxOptions = {}): FakeSandbox {
  const orders: SandboxOrder[] = [];
  const running = new Set<SandboxProcess>();
  return {
    orders,
    get live() {
      return running.size;
    },
    isolationFor: async () => ISOLATION,
    offers: async () => [],
    start: async (order) => {
      if (options.startMs) await pause(options.startMs);
      if (options.refuse) throw new SallyportError(options.refuse);
      orders.push(order);
      const process = startProcess(program, order, options);
      running.add(process);
      void process.ended.then(() => running.delete(process));
      return process;
    },
    close: async () => {
      for (const process of running) process.kill();
      await Promise.all([...running].map((process) => process.ended));
    },
  };
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

function startProcess(
  program: FakeProgram,
  order: SandboxOrder,
  options: FakeSandboxOptions,
): SandboxProcess {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  const ended = Promise.withResolvers<SandboxEnd>();
  const gone = new AbortController();
  const end = (ending: SandboxEnding): void => {
    if (gone.signal.aborted) return;
    clearTimeout(clock);
    gone.abort();
    for (const stream of [stdout, stderr]) stream.end();
    stdin.destroy();
    setTimeout(() => ended.resolve(endOf(ending, options)), options.endMs ?? 0);
  };
  const clock = setTimeout(() => end({ kind: "timeout" }), order.limits.wallMs);
  // What a program prints after its end goes nowhere.
  for (const stream of [stdin, stdout, stderr]) stream.on("error", () => undefined);
  const self: FakeProcess = { order, stdin, stdout, stderr, signal: gone.signal, end };
  void runProgram(program, self).then(end);
  return {
    isolation: ISOLATION,
    stdin,
    stdout,
    stderr,
    ended: ended.promise,
    kill: () => end(options.killedAs ?? { kind: "killed" }),
  };
}

async function runProgram(program: FakeProgram, self: FakeProcess): Promise<SandboxEnding> {
  try {
    return { kind: "exited", code: await program(self) };
  } catch (error) {
    return { kind: "crashed", message: String(error) };
  }
}

function endOf(ending: SandboxEnding, { usage, violations = [] }: FakeSandboxOptions): SandboxEnd {
  const none = { cpuMs: 1, memoryPeakBytes: 1_024, networkBytesSent: 0, networkBytesReceived: 0 };
  return { ending, usage: { ...none, ...usage }, enforcement: { wall: "watch" }, violations };
}
