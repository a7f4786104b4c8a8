import { setTimeout as pause } from "node:timers/promises";
import { ToolError, type WorkerTool } from "@sallyport/worker";

/** Your tool. Its input has passed the schema in schemas/ when a gateway sends it. */
export const countWords = {
  async run({ text, pause_ms = 0 }, { signal }) {
    if (typeof text !== "string") throw new ToolError("VALIDATION_ERROR", "text must be a string");
    // Give the signal to whatever takes time: it aborts at the deadline.
    await pause(Number(pause_ms), undefined, { signal });
    return { words: text.split(/\s+/).filter((word) => word !== "").length };
  },
} satisfies WorkerTool;
