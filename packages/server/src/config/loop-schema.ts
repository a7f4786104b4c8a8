import { DEFAULT_LIMITS } from "@sallyport/protocol";
import { z } from "zod";

const positive = z.int().positive();
const names = z.array(z.string().min(1));
/** All of these are held in memory, some of them several times. */
const MOST_BYTES = 64 * 1024 * 1024;
const bytes = positive.max(MOST_BYTES);
/** Time is counted in milliseconds. */
const seconds = z.number().min(0.001).max(86_400);

const definition = z.strictObject({
  name: z
    .string()
    .regex(/^[A-Za-z0-9_-]{1,64}$/)
    .meta({ title: "1 to 64 letters, digits, _ or -" })
    .describe("What the model calls it."),
  description: z.string().default("").describe("What it is for, told to the model."),
  parameters: z.record(z.string(), z.json()).describe("JSON Schema of its arguments."),
});

const definitions = z.array(definition).superRefine((given, context) => {
  const names = new Set<string>();
  for (const [place, { name }] of given.entries()) {
    if (names.has(name)) {
      const message = `is "${name}", which another definition is called already`;
      context.addIssue({ code: "custom", path: [place, "name"], message });
    }
    names.add(name);
  }
});

const sandbox = z
  .strictObject({
    allowed_roots: names
      .min(1)
      .default(["."])
      .describe(
        "Folders the file tools work in, from the folder of the conversation; the first is where it is at home.",
      ),
    denied_patterns: names
      .default([])
      .describe("Paths nobody reads or changes, such as `**/secrets/**`; added to the defaults."),
    allow_absolute: z.boolean().default(false).describe("Let models name paths from the root of the disk."),
    include_default_denies: z
      .boolean()
      .default(true)
      .describe("Deny keys, credentials and repositories' own folders (docs/path-sandbox.md)."),
  })
  .prefault({})
  .describe("Where file tools may go.");

const timeouts = z
  .strictObject({
    default_seconds: z
      .number()
      .min(0.001)
      .max(DEFAULT_LIMITS.timeoutMs / 1_000)
      .default(30)
      .describe(
        "For tools that set no limit of their own: it shortens their 30 s. A tool that needs longer says so in its manifest (`limits.timeoutMs`).",
      ),
    file_operations_seconds: seconds.default(30).describe("For the built-in file tools."),
    shell_commands_seconds: seconds.default(300).describe("For run_command."),
  })
  .prefault({})
  .describe("How long tools may take.");

const approval = z
  .strictObject({
    enabled: z.boolean().default(true).describe("false: no tool of a conversation runs."),
    mode: z
      .enum(["auto", "prompt", "deny"])
      .default("prompt")
      .describe("auto: run unless denied. prompt: ask first. deny: only what is on the allowlist."),
    allowlist: names.default(["read_file"]).describe("Tools that need no question."),
    denylist: names
      .default(["run_command"])
      .describe(
        "Tools that never run, whatever else is said. run_command stays denied with those you name, unless the list is empty or the allowlist has it.",
      ),
    prompt_side_effects: z
      .boolean()
      .default(true)
      .describe("In mode prompt: ask about every tool that changes something."),
  })
  .prefault({})
  .describe("When the person is asked before a tool runs.");

const listDirectory = z
  .strictObject({
    max_entries: positive.default(200).describe("Entries of one listing at most, and where none are named."),
    max_depth: positive.default(4).describe("Levels of one listing at most, and where none are named."),
    include_hidden_default: z.boolean().default(false).describe("List names that begin with a dot."),
    include_symlinks_default: z.boolean().default(true).describe("List symbolic links."),
    include_files_default: z.boolean().default(true).describe("List files."),
    include_dirs_default: z.boolean().default(true).describe("List folders."),
    include_other_default: z.boolean().default(false).describe("List sockets, pipes and devices."),
  })
  .prefault({})
  .describe("list_directory.");

/** The conversation with a model and its tools. Names within `loop` are those of the public specification it follows. */
export const loopKeys = {
  loop: z
    .strictObject({
      mode: z
        .enum(["disabled", "parse_only", "enabled"])
        .default("parse_only")
        .describe(
          "disabled: the model is offered no tools. parse_only: calls are shown and you supply the results. enabled: calls are checked, asked about and run.",
        ),
      allow_parallel: z.boolean().default(false).describe("Let calls that only read run side by side."),
      max_tool_calls_per_batch: positive.default(8).describe("Calls in one answer of the model."),
      max_tool_iterations_per_user_turn: positive
        .default(4)
        .describe("Answers with tool calls before the model has to come back to you."),
      max_tool_args_bytes: bytes.default(256 * 1024).describe("Largest arguments of one call, as JSON."),
      keep_conversations_days: z
        .int()
        .min(0)
        .max(36_500)
        .default(90)
        .describe("Conversations not used for so long are removed when a chat opens; 0: never."),
      keep_output_mb: z
        .int()
        .min(0)
        .max(1_048_576)
        .default(1_024)
        .describe(
          "MiB of long tool output kept for `read_output`; beyond it the oldest is removed when a chat opens; 0: no limit.",
        ),
      instructions: z.string().optional().describe("Told to the model before every conversation."),
      definitions: definitions
        .default([])
        .describe("Tools by hand, offered in mode parse_only instead of the registered ones."),
      sandbox,
      timeouts,
      output: z
        .strictObject({
          max_bytes: bytes.default(102_400).describe("Most of a tool's output that the model is shown."),
        })
        .prefault({})
        .describe("What tools give back."),
      environment: z
        .strictObject({
          denylist: names
            .default([])
            .describe("Variables run_command does not get, such as `*_KEY`; added to the defaults."),
        })
        .prefault({})
        .describe("The environment of commands."),
      approval,
      read_file: z
        .strictObject({
          max_file_read_bytes: bytes.default(204_800).describe("Largest file that is read whole."),
          max_scan_bytes: bytes.default(2_097_152).describe("How far a range of lines is looked for."),
        })
        .prefault({})
        .describe("read_file."),
      apply_patch: z
        .strictObject({ max_patch_bytes: bytes.default(524_288).describe("Largest patch.") })
        .prefault({})
        .describe("apply_patch."),
      list_directory: listDirectory,
    })
    .prefault({})
    .describe("`sallyport chat`: a conversation with a model and its tools."),
};
