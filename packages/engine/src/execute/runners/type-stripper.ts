import { registerHooks } from "node:module";
import { fileURLToPath } from "node:url";
import { MessageChannel, type MessagePort, receiveMessageOnPort, Worker } from "node:worker_threads";

// Node strips types by WebAssembly, and V8 can crash the whole process when threads that do so come and go
// (nodejs/node#64500): in its registry of compiled code, by SIGTRAP or SIGSEGV. So one thread of the process, which stays,
// strips the modules of tools for all the others. A thread that loads TypeScript waits for its answer, because modules load
// synchronously. Our own files, where they run from source, come from a compile cache.

/** Next to the packages that are cached, and as trusted as they are; it may be deleted at any time. */
const CACHE = fileURLToPath(new URL("../../../../../node_modules/.cache/sallyport-threads", import.meta.url));

/**
 * What the environment of a thread needs besides where its file is TypeScript: with a compile cache the first thread strips
 * and all others read what it left, in a third of the time. Where the cache cannot be written, Node goes on without.
 */
export function sourceThreadEnv(file: URL): Record<string, string> {
  if (!file.pathname.endsWith(".ts")) return {};
  return { NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? CACHE };
}

/** One Int32: 1 once the answer is in the port. */
export interface StripRequest {
  source: string;
  answered: SharedArrayBuffer;
}

export type StripAnswer =
  | { code: string }
  | { problem: { name: string; message: string; code: unknown; stack: string | undefined } };

/** The thread that strips has started long before, or something is wrong; then the asking thread strips by itself. */
const LONGEST_WAIT_MS = 10_000;
/** Blanks, not line ends: over many empty lines those would take for ever. */
const MODULE_SYNTAX = /^[^\S\r\n]*(?:import|export)\b/m;

/** One for the process, as V8's registry is. One Int32 says 1 once a text has broken it: then it ends by itself. */
let stripper: { worker: Worker; broken: Int32Array } | undefined;

/** A port for `stripTypesWith` in another thread, to be transferred there. It keeps no process alive. */
export function openTypeStripper(): MessagePort {
  if (!stripper || Atomics.load(stripper.broken, 0) === 1) stripper = startStripper();
  const { port1, port2 } = new MessageChannel();
  stripper.worker.postMessage(port1, [port1]);
  return port2;
}

function startStripper(): NonNullable<typeof stripper> {
  const file = import.meta.url.endsWith(".ts") ? "./stripper-thread.ts" : "./stripper-thread.js";
  const url = new URL(file, import.meta.url);
  const broken = new Int32Array(new SharedArrayBuffer(4));
  const worker = new Worker(url, {
    name: "sallyport-types",
    workerData: broken,
    env: sourceThreadEnv(url),
    execArgv: ["--disable-warning=ExperimentalWarning"],
  });
  const forget = () => {
    if (stripper?.worker === worker) stripper = undefined;
  };
  // What it was asked is then stripped by whoever asked.
  worker.once("error", forget).once("exit", forget);
  worker.unref();
  return { worker, broken };
}

/**
 * From now on, ES modules in TypeScript that this thread loads are stripped by the thread at the other end of the port.
 * CommonJS is left to Node, whose loader reads and strips such files itself.
 */
export function stripTypesWith(port: MessagePort, longestWaitMs: number = LONGEST_WAIT_MS): void {
  // Who did not answer once is not asked again: a late answer would be taken for that about the next module.
  let isServed = true;
  port.once("close", () => {
    isServed = false;
  });
  port.unref();
  registerHooks({
    load(url, context, next) {
      // Of a file whose package does not say what it is, Node would strip the types to find out.
      const isUndecided = context.format == null && /^file:.*\.ts(?:$|[?#])/.test(url);
      const loaded = next(url, isUndecided ? { ...context, format: "module-typescript" } : context);
      if (loaded.format !== "module-typescript" || loaded.source == null) return loaded;
      const typed = Buffer.from(loaded.source as Uint8Array).toString();
      if (isUndecided && !MODULE_SYNTAX.test(typed)) return next(url, context);
      const source = isServed ? stripped({ source: typed, url }, port, longestWaitMs) : undefined;
      isServed = source !== undefined;
      return source === undefined ? loaded : { ...loaded, format: "module", source };
    },
  });
}

/** Undefined when nobody answers. Throws what Node would throw for text that is no TypeScript. */
function stripped(
  { source, url }: { source: string; url: string },
  port: MessagePort,
  longestWaitMs: number,
): string | undefined {
  const answered = new SharedArrayBuffer(4);
  port.postMessage({ source, answered } satisfies StripRequest);
  if (Atomics.wait(new Int32Array(answered), 0, 0, longestWaitMs) === "timed-out") return undefined;
  const answer: StripAnswer | undefined = receiveMessageOnPort(port)?.message;
  if (answer && "problem" in answer) {
    const { message, stack, ...known } = answer.problem;
    // It was told no name of the text.
    throw Object.assign(new SyntaxError(message), known, { stack: stack?.replace(/^\S*(?=:\d+\n)/, url) });
  }
  return answer?.code;
}
