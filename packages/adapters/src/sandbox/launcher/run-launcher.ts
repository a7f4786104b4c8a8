import { spawn } from "node:child_process";
import { failure, SallyportError } from "@sallyport/protocol";
import { findLauncher } from "./find-launcher.ts";
import { LineSplitter } from "./line-splitter.ts";
import type { HostUser } from "./supervise-argv.ts";

/** A run of the launcher that only prints lines. */
export interface LauncherLines {
  args: readonly string[];
  /** What it reads; nothing when left out. */
  input?: Buffer;
  /** Gets each line as it comes; what it throws ends the launcher and becomes the rejection. */
  onLine(line: Buffer): void;
  /** What helps when it does not do what it was asked; the catalogue's advice when left out. */
  advice?: string;
  /** Runs it as this user, as if the host process were not root. */
  as?: HostUser;
  /** Left out: the one that `findLauncher` finds. */
  launcher?: string;
}

/** What callers may say about how the launcher is run. */
export type LauncherChoice = Pick<LauncherLines, "as" | "launcher">;

const MOST_LINE_BYTES = 64 * 1024;
const MOST_ERROR_BYTES = 2048;
/** A path in it may be longer than anybody reads. */
const MOST_MESSAGE = 300;

/** Runs a subcommand to its end. Rejects with SallyportError E3101 when it cannot run or does not exit with 0. */
export async function runLauncher(order: LauncherLines): Promise<void> {
  const { args, input, onLine, as, launcher, advice } = order;
  const found = launcher === undefined ? findLauncher() : { path: launcher };
  if ("missing" in found) throw refused(found.missing, found.fix);
  const child = spawn(found.path, args, {
    stdio: [input ? "pipe" : "ignore", "pipe", "pipe"],
    env: {},
    ...(as && { uid: as.uid, gid: as.gid }),
  });
  const lines = new LineSplitter(MOST_LINE_BYTES);
  const { promise, resolve, reject } = Promise.withResolvers<number | null>();
  let said = "";
  const giveUp = (error: unknown) => {
    child.kill("SIGKILL");
    reject(error);
  };
  // One that ends before it has read everything says why by its code.
  child.stdin?.on("error", () => undefined).end(input);
  child.stderr?.on("data", (chunk: Buffer) => {
    if (said.length < MOST_ERROR_BYTES) said += chunk.toString("utf8");
  });
  child.stdout?.on("data", (chunk: Buffer) => {
    try {
      for (const line of lines.push(chunk)) takeLine(line, onLine);
    } catch (error) {
      giveUp(error);
    }
  });
  child.once("error", (error) => giveUp(refused(`the launcher could not be started: ${error.message}`)));
  child.once("close", (code) => resolve(code));
  const code = await promise;
  if (code !== 0 || lines.isInsideLine)
    throw refused(said.trim().slice(0, MOST_MESSAGE) || "the launcher was killed", advice);
}

function takeLine(line: Buffer | undefined, onLine: (line: Buffer) => void): void {
  if (!line) throw refused("the launcher printed a line that is too long");
  onLine(line);
}

/** The failure of a launcher that did not do what it was asked. */
export function refused(message: string, advice?: string): SallyportError {
  return new SallyportError(failure("E3101", { message, ...(advice !== undefined && { advice }) }));
}
