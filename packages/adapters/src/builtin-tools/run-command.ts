import { relative, resolve } from "node:path";
import { defineCommand } from "@sallyport/engine/tool";
import { failure, type JsonValue, SallyportError } from "@sallyport/protocol";
import { ArgumentReader } from "./argument-reader.ts";
import { BUILTIN_VERSION, builtin } from "./builtin.ts";
import { commandResultText } from "./command-result.ts";
import { createEnvSanitizer } from "./env-sanitizer.ts";
import type { BuiltinOptions, BuiltinTool } from "./options.ts";
import { badArguments } from "./problems.ts";
import type { ToolMeans } from "./tool-means.ts";

const MIB = 1024 * 1024;

/** Room for builds and test runs; what the house or the agent allows less of holds all the same. */
const LIMITS = {
  memoryBytes: 2 * 1024 * MIB,
  cpuMillicores: 2_000,
  maxOutputBytes: 8 * MIB,
  maxProcesses: 256,
  maxOpenFiles: 1_024,
};

type Given = Pick<BuiltinOptions, "cwd" | "readOnly" | "env" | "environmentDenylist" | "platform">;

/**
 * Runs a shell command in the workspace (FR-TOOL-CMD-01): isolated as strongly as the house can, with an empty standard
 * input and without network. What it does to files is staged, and gone when it fails. A person is asked every time.
 */
export function runCommandTool(means: ToolMeans, given: Given): BuiltinTool {
  const readable = (given.readOnly ?? []).map((path) => ({ path: resolve(path), mode: "ro" as const }));
  const tool = defineCommand({
    id: "run_command",
    version: BUILTIN_VERSION,
    description:
      "Runs a shell command in the working folder, isolated and without network. Its changes to files are kept when it ends with exit code 0, and taken back otherwise.",
    category: "computation",
    sideEffects: "state",
    risk: "high",
    requiresApproval: true,
    requiredCapabilities: ["filesystem.read", "filesystem.write"],
    permissions: {
      filesystem: [{ path: means.root, mode: "rw" }, ...readable],
      network: [],
      credentials: [],
    },
    limits: { ...LIMITS, timeoutMs: means.limits.shellTimeoutMs },
    input: INPUT,
    summary: "Run command: {command}",
    command: shellCommand(startFolder(means, given.cwd), given.platform ?? process.platform),
    env: createEnvSanitizer(given.environmentDenylist).clean(given.env ?? {}),
  });
  const made = builtin(tool, {
    async inspect(input) {
      checkCommand(input);
    },
  });
  return { ...made, loop: { ...made.loop, textOf: commandResultText }, resultText: commandResultText };
}

const INPUT = {
  type: "object",
  properties: {
    command: {
      type: "string",
      minLength: 1,
      pattern: "\\S",
      description: "The command, for the system's shell.",
    },
  },
  required: ["command"],
  additionalProperties: false,
};

function checkCommand(input: JsonValue): void {
  if (new ArgumentReader(input).text("command").trim() === "")
    throw badArguments("command must not be blank");
}

/** Where commands start, from the workspace on; empty for the workspace itself. */
function startFolder({ root, sandbox }: ToolMeans, cwd: string | undefined): string {
  const inside = relative(root, cwd ?? sandbox.roots[0] ?? root);
  if (inside !== ".." && !inside.startsWith("../")) return inside;
  const message = `Commands cannot start in ${cwd ?? sandbox.roots[0]}, which is not in the workspace ${root}.`;
  throw new SallyportError(
    failure("E3919", { message, advice: "Choose a workspace that holds every root." }),
  );
}

/**
 * The one place where a shell is what was asked for. A command is an argument of its own wherever it goes: nothing of it
 * is read before the shell reads it. It starts in the workspace, so another folder is one step further.
 */
function shellCommand(folder: string, platform: NodeJS.Platform): string[] {
  if (platform === "win32") return ["cmd.exe", "/C", "{command}"];
  if (folder === "") return ["sh", "-c", "{command}"];
  return ["sh", "-c", 'cd -- "$1" && exec sh -c "$2"', "sh", `./${folder}`, "{command}"];
}
