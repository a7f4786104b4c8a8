import { stripTypeScriptTypes } from "node:module";
import { type MessagePort, parentPort, workerData } from "node:worker_threads";
import type { StripAnswer, StripRequest } from "./type-stripper.ts";

// What runs inside the thread that strips types for all others. The same text comes again with every thread of a tool.

const MAX_REMEMBERED = 500;
const ABOUT_THE_TEXT = new Set<unknown>([
  "ERR_INVALID_TYPESCRIPT_SYNTAX",
  "ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX",
]);
const remembered = new Map<string, string>();

parentPort?.on("message", (port: MessagePort) => {
  port.on("message", ({ source, answered }: StripRequest) => {
    const answer = answerTo(source);
    // Text that is nested too deeply breaks the stripper for every text after it: a new thread takes this one's place.
    const isBroken = "problem" in answer && !ABOUT_THE_TEXT.has(answer.problem.code);
    if (isBroken) Atomics.store(workerData, 0, 1);
    port.postMessage(answer);
    const flag = new Int32Array(answered);
    Atomics.store(flag, 0, 1);
    Atomics.notify(flag, 0);
    if (isBroken) process.exit();
  });
});

function answerTo(source: string): StripAnswer {
  try {
    const code = remembered.get(source) ?? stripTypeScriptTypes(source);
    if (remembered.size >= MAX_REMEMBERED) remembered.clear();
    remembered.set(source, code);
    return { code };
  } catch (error) {
    const { name, message, code, stack } = error as NodeJS.ErrnoException;
    return { problem: { name, message, code, stack } };
  }
}
