import type { Readable } from "node:stream";
import { types } from "node:util";
import type { RunFault } from "../../ports/runner.ts";
import { timerMs } from "../../timeouts.ts";
import { type ContextChannel, createToolContext, type HostError, OpenQuestions } from "./host-api.ts";
import { decodeAnswer, encodeArgs, type HostOp } from "./host-ops.ts";
import { CallSignal, type StopReason } from "./outcome-latch.ts";
import { describeThrown, type Encoded, findOperation, invokeTool, withoutFolders } from "./tool-result.ts";
import {
  type CallOrder,
  decodeOrders,
  encodeFrame,
  FrameReader,
  type UsageSample,
  type WantedTool,
} from "./wire.ts";

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

/** Takes an order about a call. Orders about a call that is over are ignored. */
type TakeOrder = (order: CallOrder, body: string) => void;

/** What a loaded tool is served over. */
interface LoadingPort extends ServerPort {
  /** Called when the tool is loaded, before the host is told. */
  onLoaded(take: TakeOrder): void;
}

/** Loads a tool, and says so or why it cannot be used. Never rejects. */
export async function serveTool(wanted: WantedTool, port: LoadingPort): Promise<void> {
  try {
    const operations = await loadOperations(wanted);
    const server = new CallServer(wanted.tool, operations, port);
    port.onLoaded((order, body) => server.take(order, body));
    port.post(encodeFrame({ kind: "ready", threadCpuMs: port.readUsage().threadCpuMs }));
  } catch (error) {
    port.post(encodeFrame({ kind: "unusable", fault: loadFault(error) }));
  }
}

type RunOrder = Extract<CallOrder, { kind: "run" }>;

interface PendingCall {
  order: RunOrder;
  input: string;
  channel: CallChannel;
}

const { parse } = JSON;

/** Runs calls one after the other, in the order in which they came. The result of one is out before the next begins. */
class CallServer {
  readonly #tool: string;
  readonly #operations: object;
  readonly #port: ServerPort;
  readonly #pending: PendingCall[] = [];
  #current: PendingCall | undefined;

  constructor(tool: string, operations: object, port: ServerPort) {
    this.#tool = tool;
    this.#operations = operations;
    this.#port = port;
  }

  take(order: CallOrder, body: string): void {
    if (order.kind === "run") {
      this.#pending.push({ order, input: body, channel: new CallChannel(order, this.#port.post) });
      if (!this.#current) this.#runPending();
    } else if (order.call === this.#current?.order.call) {
      const { channel } = this.#current;
      if (order.kind === "abort") channel.abort("cancelled");
      else channel.answer(order.question, { error: order.error, body });
    }
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

  #invoke({ order, input, channel }: PendingCall): Encoded | Promise<Encoded> {
    const operation = findOperation(this.#operations, order.operation);
    if (!operation) {
      const message = `${this.#tool} has no operation "${order.operation}"`;
      return { ok: false, fault: { kind: "threw", message } };
    }
    const context = createToolContext(order.facts, channel);
    return invokeTool(operation, { input: parse(input), context, maxOutputBytes: order.maxBytes });
  }

  #report({ order: { call }, channel }: PendingCall, encoded: Encoded): void {
    const isLate = channel.stopReason === "timeout" && !encoded.ok;
    channel.end();
    this.#current = undefined;
    const ending = { call, ...this.#port.readUsage() };
    if (encoded.ok) this.#port.post(encodeFrame({ kind: "done", ...ending }, encoded.text));
    else {
      const fault: RunFault = isLate ? { kind: "timeout" } : encoded.fault;
      this.#port.post(encodeFrame({ kind: "failed", ...ending, fault }));
    }
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
 * A call's way to its host. Questions beyond the allowed number wait here; progress leaves at most every 50 ms, the newest
 * one last. Once ended it sends nothing, and rejects every question that still waits.
 */
class CallChannel implements ContextChannel {
  readonly #call: number;
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

  constructor({ call, leftMs }: RunOrder, post: (frame: string) => void) {
    this.#call = call;
    this.#deadlineAt = performance.now() + leftMs;
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
    this.#post(encodeFrame({ kind: "ask", call: this.#call, question, op: asked.op }, asked.args));
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
    this.#post(encodeFrame({ kind: "progress", call: this.#call, ...said }));
  }
}

function endedError(): Error {
  return new Error("the call has ended; its host no longer answers");
}

/** A process's pipes to its host, and what the process has used so far. */
export interface ScriptPipes {
  input: Readable;
  write(text: string): void;
  readUsage(): UsageSample;
}

/** What the process does with an error that nobody caught. */
export interface ScriptServer {
  fail(error: unknown): void;
}

/**
 * Serves the host over pipes until they end: `hello` names the tool, its module is loaded, `ready` is said, then `run`
 * comes. The host sends nothing else before `ready`.
 */
export function serveScript({ input, write, readUsage }: ScriptPipes): ScriptServer {
  const post = (frame: string) => write(`${frame}\n`);
  let take: TakeOrder | undefined;
  let call: number | undefined;
  const onLoaded = (taking: TakeOrder) => {
    take = taking;
  };
  const reader = new FrameReader({
    onFrame: (frame) => {
      for (const { head, body } of decodeOrders(frame)) {
        if (head.kind === "hello") void serveTool(head, { post, readUsage, onLoaded });
        else take?.(head, body);
        if (head.kind === "run") call = head.call;
      }
    },
  });
  input.on("data", (chunk: Buffer) => reader.take(chunk));
  return {
    fail: (error) => {
      if (call === undefined) post(encodeFrame({ kind: "unusable", fault: loadFault(error) }));
      else post(encodeFrame({ kind: "failed", call, ...readUsage(), fault: describeThrown(error) }));
    },
  };
}
