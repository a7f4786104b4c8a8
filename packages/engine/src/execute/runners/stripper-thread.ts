import { stripTypeScriptTypes } from "node:module";
import { type MessagePort, parentPort } from "node:worker_threads";
import type { StripAnswer, StripRequest } from "./type-stripper.ts";

// What runs inside the thread that strips types for all others. The same text comes again with every thread of a tool.

const MAX_REMEMBERED = 500;
const remembered = new Map<string, string>();

parentPort?.on("message", (port: MessagePort) => {
  port.on("message", ({ source, answered }: StripRequest) => {
    port.postMessage(answerTo(source));
    const flag = new Int32Array(answered);
    Atomics.store(flag, 0, 1);
    Atomics.notify(flag, 0);
  });
});

function answerTo(source: string): StripAnswer {
  try {
    const code = remembered.get(source) ?? stripTypeScriptTypes(source);
    if (remembered.size >= MAX_REMEMBERED) remembered.clear();
    remembered.set(source, code);
    return { code };
  } catch (error) {
    const { name, message, code } = error as NodeJS.ErrnoException;
    return { problem: { name, message, code } };
  }
}
