import { z } from "zod";

const positive = z.int().positive();

const limits = z
  .strictObject({
    concurrentCalls: positive.default(64).describe("Calls that run at once."),
    concurrentCallsPerAgent: positive.default(4).describe("Calls that run at once for one agent."),
    concurrentCallsPerTool: positive.default(64).describe("Calls that run at once of one tool."),
    queuedCalls: positive.default(10_000).describe("Asynchronous calls that may wait in the queue."),
    queueWaitSeconds: z
      .number()
      .positive()
      .max(3_600)
      .default(10)
      .describe("How long a call whose caller waits for it may itself wait for a place."),
    inputBytes: positive.default(256 * 1024).describe("Largest input."),
    outputBytes: positive
      .default(1024 * 1024)
      .describe("Largest result of a tool that sets no limit itself."),
    versionsPerTool: positive.default(5).describe("Versions of a tool that are kept."),
    threads: positive.default(32).describe("Worker threads at most."),
  })
  .prefault({})
  .describe("How much at once, and how large.");

const toolLimit = z.strictObject({
  tools: z
    .array(z.string().min(1))
    .min(1)
    .describe("Tools it is about; `*` stands for any run of characters."),
  concurrentCalls: positive.optional().describe("Calls of each of these tools that run at once."),
  timeoutMs: positive.optional().describe("The longest a call may run; less than the manifest's counts."),
  enabled: z.boolean().optional().describe("false: calls are refused until it is true again."),
});

/** How much may happen at once, for the house and for single tools. */
export const limitKeys = {
  limits,
  toolLimits: z
    .array(toolLimit)
    .default([])
    .describe("Limits of single tools. Where several fit a tool, the strictest of each counts."),
};
