import { type DefinedTool, defineCommand } from "@sallyport/engine";
import type { ResourceLimits } from "@sallyport/protocol";

/** What the person at the command line lets a command touch and use. */
export interface RunBounds {
  workspace: string | undefined;
  readable: readonly string[];
  hosts: readonly { host: string; port?: number }[];
  credentials: readonly string[];
  env: Readonly<Record<string, string>>;
  limits: ResourceLimits;
}

export const RUN_TOOL = "sandbox.run";

/** Any command as a tool: its bounds are those of this one command line, so it is made for each and kept nowhere. */
export function runTool({ workspace, readable, hosts, credentials, env, limits }: RunBounds): DefinedTool {
  return defineCommand({
    id: RUN_TOOL,
    version: "1.0.0",
    description: "Runs a command in a sandbox; what it changes is staged.",
    category: "file_system",
    risk: "high",
    input: {
      type: "object",
      properties: { command: { type: "array", items: { type: "string" }, minItems: 1 } },
      required: ["command"],
      additionalProperties: false,
    },
    command: ["{command...}"],
    env,
    limits,
    permissions: {
      filesystem: [
        ...(workspace === undefined ? [] : [{ path: workspace, mode: "rw" as const }]),
        ...readable.map((path) => ({ path, mode: "ro" as const })),
      ],
      network: hosts.map((rule) => ({ ...rule })),
      credentials: [...credentials],
    },
  });
}
