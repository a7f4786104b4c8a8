import { configKeys } from "../../config/config-keys.ts";
import { EXAMPLE_TOOL } from "./init-tool.ts";

/** Keys that a newcomer looks for, shown with their defaults. */
const SHOWN: Readonly<Record<string, readonly string[]>> = {
  http: ["host", "port", "callers", "shutdownSeconds"],
  limits: ["concurrentCalls", "concurrentCallsPerAgent", "queuedCalls"],
  approvals: ["onApproval", "quorum"],
  log: ["level"],
  loop: ["mode", "allow_parallel"],
};

/** A commented configuration with one tool in it; what is commented out are the defaults. */
export function exampleConfig(): string {
  const parts = Object.entries(SHOWN).map(([part, keys]) => partText(part, keys));
  return `# Sallyport's configuration for this folder. Paths start here.
#   sallyport config check           is it right?
#   sallyport config explain KEY     what does a key mean?
#   kill -HUP <pid of the server>    apply changes of tools, grants, agents, policy and limits

# ${described("tools")}
tools:
  - ${EXAMPLE_TOOL.module}

# ${described("grants")}
grants:
  - id: anyone-may-greet
    tools: [${EXAMPLE_TOOL.id}]

# ${described("policy")}
# policy:
#   files: [rules.yaml]

${parts.join("\n")}`;
}

function partText(part: string, keys: readonly string[]): string {
  const lines = keys.map((name) => {
    const setting = `${name}: ${String(preset(`${part}.${name}`))}`;
    return `#   ${setting.padEnd(28)} # ${described(`${part}.${name}`)}`;
  });
  return `# ${described(part)}\n# ${part}:\n${lines.join("\n")}\n`;
}

function described(name: string): string {
  return configKeys().find(({ key }) => key === name)?.description ?? "";
}

function preset(name: string): unknown {
  return configKeys().find(({ key }) => key === name)?.default;
}
