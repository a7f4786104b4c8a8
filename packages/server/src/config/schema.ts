import { z } from "zod";
import { authorityKeys } from "./authority-schema.ts";
import { blobKeys } from "./blobs-schema.ts";
import { eventKeys } from "./events-schema.ts";
import { httpKeys } from "./http-schema.ts";
import { isolationKeys } from "./isolation-schema.ts";
import { loopKeys } from "./loop-schema.ts";
import { modelKeys } from "./models-schema.ts";
import { storeKeys } from "./store-schema.ts";

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
    versionsPerTool: positive
      .default(5)
      .describe("Versions of a tool that are kept. Of the tools of a domain all are."),
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

/** How much may happen at once, for the server and for single tools. */
const limitKeys = {
  limits,
  toolLimits: z
    .array(toolLimit)
    .default([])
    .describe("Limits of single tools. Where several fit a tool, the strictest of each counts."),
};

/** One entry of `tools`: where the code is, and how it runs. */
const toolModule = z.union([
  z.string().min(1),
  z.strictObject({
    module: z.string().min(1).describe("Path of the module, relative to the configuration file."),
    runner: z
      .enum(["thread", "inline", "script"])
      .default("thread")
      .describe(
        "thread: a worker thread with a heap limit. inline: this thread, for code you trust. script: a sandboxed process.",
      ),
  }),
]);

const names = z.array(z.string().min(1)).min(1);

const grant = z.strictObject({
  id: z.string().min(1).describe("Name of the grant; it stands in every decision it takes part in."),
  tools: names.describe("Tools it covers; `*` stands for any run of characters."),
  operations: names.default(["*"]).describe("Operations it covers."),
  agents: names.default(["*"]).describe("Agents it is for."),
  tenants: names.default(["*"]).describe("Tenants it is for."),
  capabilities: z.array(z.string().min(1)).default([]).describe("Capabilities it gives, by exact name."),
});

/** `sallyport.yaml`. Every key has a default but the ones that say what may run. */
export const configSchema = z
  .strictObject({
    state: z
      .string()
      .min(1)
      .default(".sallyport")
      .describe("Folder for everything that is kept, next to this file."),
    durability: z
      .enum(["power", "process"])
      .default("power")
      .describe("power: every outcome is synced to disk first. process: survives kill -9, not a power cut."),
    ...storeKeys,
    ...blobKeys,
    domain: z
      .string()
      .min(1)
      .optional()
      .describe(
        "Folder of a domain package. With it the server is a gateway: it runs the tools of that package, by workers, and nothing else.",
      ),
    tools: z.array(toolModule).default([]).describe("Modules that export tools made with defineTool."),
    schemas: z
      .strictObject({
        requireQuality: z
          .boolean()
          .default(false)
          .describe("Refuse a tool whose schemas break a quality rule of severity error (E3012)."),
      })
      .prefault({})
      .describe("What is asked of tools' schemas."),
    grants: z.array(grant).default([]).describe("Who may call what. Without a grant nothing runs."),
    ...authorityKeys,
    ...isolationKeys,
    caller: z
      .strictObject({
        tenant: z.string().min(1).default("local").describe("Tenant, also of HTTP callers that name none."),
        agent: z.string().min(1).default("cli").describe("Agent of the command line."),
      })
      .prefault({})
      .describe("On whose behalf the command line calls."),
    ...eventKeys,
    ...limitKeys,
    ...httpKeys,
    ...modelKeys,
    ...loopKeys,
  })
  .refine(({ domain, tools }) => domain === undefined || tools.length === 0, {
    path: ["tools"],
    error:
      "cannot be combined with domain: a gateway runs no modules, only the workers of its domain. Give it a configuration of its own (--config FILE), or start it in a folder without this one",
  });

export type Config = z.infer<typeof configSchema>;
