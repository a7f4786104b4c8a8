import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { Reading } from "../measure.ts";
import type { Round } from "./contender-process.ts";

/** With the processor time that all threads of the contender's process took for a call. */
export interface RemoteReading extends Reading {
  cpuUs: number;
}

/** A contender in a process of its own. */
export interface RemoteContender {
  name: string;
  measure(round: Round): Promise<RemoteReading>;
  close(): Promise<void>;
}

const PROCESS = fileURLToPath(new URL("./contender-process.ts", import.meta.url));

/** Starts the contender that a module opens. Rejects with what the process said when it ends instead. */
export async function startContender(
  module: URL,
  place: Record<string, string>,
  { execArgv = [] }: { execArgv?: string[] } = {},
): Promise<RemoteContender> {
  const child = fork(PROCESS, [module.href, JSON.stringify(place)], {
    execArgv,
    stdio: ["ignore", "ignore", "pipe", "ipc"],
  });
  let said = "";
  child.stderr?.on("data", (chunk: Buffer) => {
    said = (said + chunk.toString()).slice(-4_096);
  });
  const ended = once(child, "exit");
  const answer = () => nextMessage(child, () => new Error(`${module.pathname} ended: ${said}`));
  const { name } = (await answer()) as { name: string };
  return {
    name,
    async measure(round) {
      const reading = answer();
      child.send(round);
      return (await reading) as RemoteReading;
    },
    async close() {
      if (child.connected) child.disconnect();
      await ended;
    },
  };
}

function nextMessage(child: ChildProcess, why: () => Error): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const end = () => reject(why());
    child.once("exit", end);
    child.once("message", (message) => {
      child.off("exit", end);
      resolve(message);
    });
  });
}
