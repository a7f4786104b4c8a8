import type { ConversationDoor, LoopEvent, TurnEnd } from "@sallyport/loop";
import { EXIT, exitCodeOf } from "../../cli/exit-codes.ts";
import type { Io } from "../../cli/io.ts";
import { visibleJson } from "../state/clean.ts";

/** The last line of what is printed. */
export interface PrintedEnd {
  kind: "end";
  conversation: string;
  end: TurnEnd;
}

interface PrintParts {
  door: ConversationDoor;
  text: string;
  /** What to do with a batch that an earlier process left open, before the text is said. */
  recover?: "resume" | "discard" | undefined;
  io: Pick<Io, "stdout">;
}

/**
 * One turn for a program: every event as a line of JSON, the last of kind `end`. Strings are as they came, with all
 * that a terminal could act on escaped. Asks nobody. Waits where the reader is slow.
 */
export async function printEvents({ door, text, recover, io }: PrintParts): Promise<number> {
  const stop = door.listen((event) => written(event, io));
  try {
    const isOpen = door.state.state === "recovery" || door.state.state === "awaiting_results";
    const first = recover && isOpen ? await door.recover(recover) : undefined;
    const end = first && first.kind !== "done" ? first : await door.send(text);
    await written({ kind: "end", conversation: door.id, end }, io);
    return exitCodeOfEnd(end);
  } finally {
    stop();
  }
}

const OVER = ["drain", "close", "error"] as const;

function written(line: LoopEvent | PrintedEnd, { stdout }: PrintParts["io"]): void | Promise<void> {
  if (stdout.write(`${visibleJson(line)}\n`)) return;
  // A reader that is gone takes nothing more, and nobody has to wait for it.
  return new Promise((resolve) => {
    const over = () => {
      for (const name of OVER) stdout.off(name, over);
      resolve();
    };
    for (const name of OVER) stdout.on(name, over);
  });
}

/** A turn that waits for a person's results is not done. */
function exitCodeOfEnd(end: TurnEnd): number {
  if (end.kind === "done") return EXIT.success;
  if (end.kind === "failed") return exitCodeOf(end.error);
  return end.kind === "cancelled" ? EXIT.cancelled : EXIT.approvalPending;
}
