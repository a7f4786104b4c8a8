import { blameInlineTool } from "@sallyport/engine";
import { visible } from "./cli/io.ts";

const INTERNAL_ERROR = 70;

/**
 * Handles errors that nobody caught, for a process that belongs to Sallyport. One of an inline tool ends its call
 * (E3907), and the process goes on: inline tools are trusted code, and the error is theirs. After any other the state of
 * this process is not known: a server stops taking calls, drains and exits with code 70, a command exits with it at once.
 */
export function containUncaught(): void {
  process.on("uncaughtException", (error: unknown) => {
    const tool = blameInlineTool(error);
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    if (tool !== undefined) {
      process.stderr.write(`! The inline tool ${visible(tool)} threw outside its call: ${visible(text)}\n`);
      return;
    }
    process.stderr.write(`E3900 An error was not caught: ${visible(text)}\n`);
    process.exitCode = INTERNAL_ERROR;
    if (process.listenerCount("SIGTERM") > 0) process.kill(process.pid, "SIGTERM");
    else process.exit();
  });
}
