import { createInterface } from "node:readline/promises";
import type { Io } from "./io.ts";

/** Asks on stderr. The end of the input, or Ctrl-C, is no answer, and no answer is a no. */
export async function isYes(question: string, { stdin, stderr }: Io): Promise<boolean> {
  const lines = createInterface({ input: stdin, output: stderr });
  const ended = new AbortController();
  lines.once("close", () => ended.abort());
  try {
    const answer = (await lines.question(question, { signal: ended.signal })).trim().toLowerCase();
    return answer === "y" || answer === "yes";
  } catch (error) {
    if (!ended.signal.aborted) throw error;
    stderr.write("\n");
    return false;
  } finally {
    lines.close();
  }
}
