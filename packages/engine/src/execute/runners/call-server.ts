import { types } from "node:util";
import type { RunFault } from "../../ports/runner.ts";
import { timerMs } from "../../timeouts.ts";
import { type ContextChannel, createToolContext, type HostError, OpenQuestions } from "./host-api.ts";
import { decodeAnswer, encodeArgs, type HostOp } from "./host-ops.ts";
import { CallSignal, type StopReason } from "./outcome-latch.ts";
import {
  describeThrown,
  type Encoded,
  findOperation,
  invokeTool,
  noOperation,
  withoutFolders,
} from "./tool-result.ts";
import { type CallOrder, decodeOrders, encodeFrame, type UsageSample, type WantedTool } from "./wire.ts";

// The tool's side of a remote call, the same in a thread and in a process of its own: load the tool, then run one call
// after the other.

/** The mark that `defineTool` puts on a tool. A registered symbol, so that this file needs nothing from there. */
const TOOL_MARK = Symbol.for("sallyport.tool");

interface ToolShape {
  manifest: { id: unknown; version: unknown };
  operations: object;
  programs?: unknown;
}

/** No export of the module is the tool that was asked for; the message says which ones there are. */
class NoSuchTool extends Error {
  override readonly name = "NoSuchTool";
}

/** The tools among a module's exports, each once. */
export function toolsOf(namespace: object): ToolShape[] {
  return [...new Set(Object.values(namespace).flat())].filter(isTool);
}

function isTool(value: unknown): value is ToolShape {
  if (!isObject(value) || Reflect.get(value, TOOL_MARK) !== true) return false;
  return (
    "manifest" in value && "operations" in value && isObject(value.manifest) && isObject(value.operations)
  );
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

/** Imports a tool's module and finds the tool among its exports. Rejects as the import does, or with NoSuchTool. */
async function loadOperations(wanted: WantedTool): Promise<object> {
  const tools = toolsOf(await import(wanted.moduleUrl));
  const found = tools.find(
    ({ manifest }) => manifest.id === wanted.tool && manifest.version === wanted.version,
  );
  if (found) return found.operations;
  const names =
    tools.map(({ manifest }) => `${manifest.id}@${manifest.version}`).join(", ") || "no tool at all";
  throw new NoSuchTool(`${wanted.moduleUrl} does not export ${wanted.tool}@${wanted.version}, but ${names}`);
}

/** What it means for a call that its tool's module could not be loaded. Where the module lies, only the stack says. */
function loadFault(error: unknown): RunFault {
  const threw = describeThrown(error);
  const message = withoutFolders(threw.message);
  if (error instanceof NoSuchTool) return { kind: "died", message };
  return { ...threw, message: `the tool's module failed to load: ${message}` };
}

/** The way to the host, and what it has to be told. */
interface ServerPort {
  post: (frame: string) => void;
  /** What the thread or process has used so far. */
  readUsage: () => UsageSample;
  /** False when the host has taken back its order. Left out: it never does. */
  claim?: (call: number) => boolean;
}

type RunOrder = Extract<CallOrder, { kind: "run" }>;

const { parse } = JSON;

/**
 * Serves one tool: loads it, then runs calls one after the other, in the order in which they came. The result of one is out
 * before the next begins.
 */
export class CallServer {
  readonly #port: ServerPort;
  readonly #pending: ServedCall[] = [];
  #tool = "";
  #operations: object = {};
  #current: ServedCall | undefined;
  #lastCall: number | undefined;

  constructor(port: ServerPort) {
    this.#port = port;
  }

  /** Loads the tool, and says so or why it cannot be used. Never rejects. The host sends no order before. */
  async load(wanted: WantedTool): Promise<void> {
    try {
      this.#tool = wanted.tool;
      this.#operations = await loadOperations(wanted);
      this.#post({ kind: "ready", threadCpuMs: this.#port.readUsage().threadCpuMs });
    } catch (error) {
      this.fail(error);
    }
  }

  /** Takes the orders of a message. Orders about a call that is over are ignored. */
  take(message: string): void {
    for (const { head, body } of decodeOrders(message)) {
      if (head.kind === "hello") void this.load(head);
      else if (head.kind === "run") this.#run(new ServedCall(head, body, this.#port.post));
      else if (head.call !== this.#current?.order.call) continue;
      else if (head.kind === "abort") this.#current.abort("cancelled");
      else this.#current.answer(head.question, { error: head.error, body });
    }
  }

  /** Reports an error that nobody caught: it is the last call's, or the tool is of no use. */
  fail(error: unknown): void {
    const call = this.#lastCall;
    if (call === undefined) this.#post({ kind: "unusable", fault: loadFault(error) });
    else this.#post({ kind: "failed", call, ...this.#port.readUsage(), fault: describeThrown(error) });
  }

  #post(...frame: Parameters<typeof encodeFrame>): void {
    this.#port.post(encodeFrame(...frame));
  }

  #run(call: ServedCall): void {
    this.#lastCall = call.order.call;
    this.#pending.push(call);
    if (!this.#current) this.#runPending();
  }

  /** Until one of them answers later. */
  #runPending(): void {
    for (let next = this.#pending.shift(); next; next = this.#pending.shift()) {
      if (this.#port.claim?.(next.order.call) === false) continue;
      const call = next;
      this.#current = call;
      const outcome = this.#invoke(call);
      if (types.isPromise(outcome)) {
        void outcome.then((encoded) => {
          this.#report(call, encoded);
          this.#runPending();
        });
        return;
      }
      this.#report(call, outcome);
    }
  }

  #invoke(call: ServedCall): Encoded | Promise<Encoded> {
    const { operation: name, facts, maxBytes: maxOutputBytes } = call.order;
    const operation = findOperation(this.#operations, name);
    if (!operation) return noOperation(this.#tool, name);
    return invokeTool(operation, {
      input: parse(call.input),
      context: createToolContext(facts, call),
      maxOutputBytes,
    });
  }

  #report(call: ServedCall, encoded: Encoded): void {
    const isLate = call.stopReason === "timeout" && !encoded.ok;
    call.end();
    this.#current = undefined;
    const ending = { call: call.order.call, ...this.#port.readUsage() };
    if (encoded.ok) this.#post({ kind: "done", ...ending }, encoded.text);
    else this.#post({ kind: "failed", ...ending, fault: isLate ? { kind: "timeout" } : encoded.fault });
  }
}

const PROGRESS_EVERY_MS = 50;
/** A tool that watches its signal learns of the deadline this long before the host ends the thread or process. */
const MOST_NOTICE_MS = 50;
const NOTICE_SHARE = 0.1;

const { setTimeout: startTimer, clearTimeout: stopTimer } = globalThis;

interface AskedQuestion {
  op: HostOp;
  args: string;
  resolve(value: unknown): void;
  reject(error: Error): void;
}

/**
 * A call and its way to its host. Questions beyond the allowed number wait here; progress leaves at most every 50 ms, the newest
 * one last. Once ended it sends nothing, and rejects every question that still waits.
 */
class ServedCall implements ContextChannel {
  readonly order: RunOrder;
  readonly input: string;
  readonly #deadlineAt: number;
  readonly #post: (frame: string) => void;
  readonly #signal = new CallSignal();
  readonly #open = new OpenQuestions();
  readonly #asked = new Map<number, AskedQuestion>();
  readonly #waiting: AskedQuestion[] = [];
  #questions = 0;
  #ended = false;
  #noticeTimer: NodeJS.Timeout | undefined;
  #progressTimer: NodeJS.Timeout | undefined;
  #progressSentAt = Number.NEGATIVE_INFINITY;
  #newest: { percent: number; phase: string | undefined } | undefined;

  constructor(order: RunOrder, input: string, post: (frame: string) => void) {
    this.order = order;
    this.input = input;
    this.#deadlineAt = performance.now() + order.leftMs;
    this.#post = post;
  }

  get signal(): AbortSignal {
    if (this.#noticeTimer === undefined && !this.#ended) {
      const left = this.#deadlineAt - performance.now();
      const notice = Math.min(MOST_NOTICE_MS, left * NOTICE_SHARE);
      this.#noticeTimer = startTimer(() => this.abort("timeout"), timerMs(Math.max(0, left - notice)));
    }
    return this.#signal.signal;
  }

  get stopReason(): StopReason | undefined {
    return this.#signal.reason;
  }

  abort(reason: StopReason): void {
    this.#signal.abort(reason);
  }

  ask(op: HostOp, args: readonly unknown[]): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const asked = { op, args: encodeArgs(op, args), resolve, reject };
      if (this.#ended) reject(endedError());
      else if (this.#open.tryOpen(op)) this.#send(asked);
      else this.#waiting.push(asked);
    });
  }

  /** Hands the host's answer to whoever asked; an answer that nobody waits for is dropped. */
  answer(question: number, reply: { error: HostError | undefined; body: string }): void {
    const asked = this.#asked.get(question);
    if (asked === undefined) return;
    this.#asked.delete(question);
    this.#open.close(asked.op);
    const next = this.#waiting.findIndex(({ op }) => this.#open.tryOpen(op));
    const [opened] = next < 0 ? [] : this.#waiting.splice(next, 1);
    if (opened) this.#send(opened);
    if (reply.error) asked.reject(Object.assign(new Error(reply.error.message), reply.error));
    else asked.resolve(decodeAnswer(asked.op, reply.body));
  }

  progress(percent: number, phase: string | undefined): void {
    if (this.#ended) return;
    this.#newest = { percent, phase };
    const wait = this.#progressSentAt + PROGRESS_EVERY_MS - performance.now();
    if (wait <= 0) this.#sendProgress();
    else this.#progressTimer ??= startTimer(() => this.#sendProgress(), wait);
  }

  /** Sends the last progress; from here on nothing leaves. */
  end(): void {
    this.#sendProgress();
    this.#ended = true;
    stopTimer(this.#noticeTimer);
    for (const asked of [...this.#asked.values(), ...this.#waiting]) asked.reject(endedError());
    this.#asked.clear();
    this.#waiting.length = 0;
  }

  #send(asked: AskedQuestion): void {
    const question = this.#questions++;
    this.#asked.set(question, asked);
    this.#post(encodeFrame({ kind: "ask", call: this.order.call, question, op: asked.op }, asked.args));
  }

  #sendProgress(): void {
    stopTimer(this.#progressTimer);
    this.#progressTimer = undefined;
    const newest = this.#newest;
    if (newest === undefined || this.#ended) return;
    this.#newest = undefined;
    this.#progressSentAt = performance.now();
    const { percent, phase } = newest;
    const said = phase === undefined ? { percent } : { percent, phase };
    this.#post(encodeFrame({ kind: "progress", call: this.order.call, ...said }));
  }
}

function endedError(): Error {
  return new Error("the call has ended; its host no longer answers");
}
