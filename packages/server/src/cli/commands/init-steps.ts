import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { failure, isFailure, SallyportError } from "@sallyport/protocol";
import { configKeys } from "../../config/config-keys.ts";
import { CONFIG_FILE, loadConfig } from "../../config/load.ts";
import { currentKid, initKeys, keyFolder } from "../../keys/index.ts";
import { ensureOperatorKey, OPERATOR_KEY_FILE } from "../../keys/operator-key.ts";
import { must } from "../../must.ts";
import { VERSION } from "../../version.ts";
import { linkPackage } from "../link-package.ts";
import { EXAMPLE_TOOL } from "./init-tool.ts";

/** What the example tool imports. */
const ENGINE_ENTRY = "@sallyport/engine/tool";

/** Keys that a newcomer looks for, shown with their defaults. */
const SHOWN: Readonly<Record<string, readonly string[]>> = {
  http: ["host", "port", "callers", "shutdownSeconds"],
  limits: ["concurrentCalls", "concurrentCallsPerAgent", "queuedCalls"],
  approvals: ["onApproval", "quorum"],
  log: ["level"],
  loop: ["mode", "allow_parallel"],
};

/** A commented configuration with one tool in it; what is commented out are the defaults. */
function exampleConfig(): string {
  const parts = Object.entries(SHOWN).map(([part, keys]) => partText(part, keys));
  return `# Sallyport's configuration for this folder. Paths start here.
#   sallyport config check           is it right?
#   sallyport config explain KEY     what does a key mean?
#   sallyport init                   in a copy from git: makes keys, and links what the tools import
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

/** One thing that init sees to. */
export interface InitStep {
  /** Relative to the folder where it is inside of it. */
  path: string;
  done: "made" | "kept" | "replaced";
  what: string;
}

export interface InitOrder {
  folder: string;
  stateDir?: string | undefined;
  /** Replace the configuration, and nothing else. */
  force: boolean;
}

/** Makes a folder ready to serve. What is there stays as it is; throws with a code when something cannot be made. */
export async function initFolder({ folder, stateDir, force }: InitOrder): Promise<InitStep[]> {
  const within = (step: InitStep) => ({ ...step, path: relative(folder, step.path) || "." });
  const config = atFolder(folder, () => placeConfig(folder, force));
  const { stateFolder, tools } = loadConfig({ cwd: folder, stateDir });
  const example = atFolder(folder, () => {
    if (config.done !== "kept") return placeExample(folder);
    // A copy of the folder from git has no node_modules.
    return tools.length > 0 ? linkEngine(folder) : [];
  });
  const keys = await placeKeys(stateFolder);
  return [config, ...example, ...keys].map(within);
}

function placeConfig(folder: string, force: boolean): InitStep {
  const path = join(folder, CONFIG_FILE);
  const what = "what may run, and for whom";
  mkdirSync(folder, { recursive: true });
  if (writeNew(path, exampleConfig())) return { path, what, done: "made" };
  if (!force) return { path, what, done: "kept" };
  // In one step, and never through a link that stands there.
  const draft = `${path}.new`;
  rmSync(draft, { force: true });
  writeFileSync(draft, exampleConfig(), { flag: "wx" });
  renameSync(draft, path);
  return { path, what, done: "replaced" };
}

const PACKAGE_FILE = "package.json";
/** The engine as an optional peer: npm checks its version and never asks a registry for it. */
const PROJECT_PACKAGE = {
  private: true,
  type: "module",
  engines: { node: ">=24" },
  peerDependencies: { "@sallyport/engine": VERSION },
  peerDependenciesMeta: { "@sallyport/engine": { optional: true } },
};

function placeExample(folder: string): InitStep[] {
  const tool = join(folder, EXAMPLE_TOOL.module);
  mkdirSync(dirname(tool), { recursive: true });
  const files = [
    [tool, EXAMPLE_TOOL.text, "an example tool"],
    [join(folder, PACKAGE_FILE), `${JSON.stringify(PROJECT_PACKAGE, null, 2)}\n`, "what its modules import"],
    [join(folder, ".gitignore"), "node_modules/\n.sallyport/\n", "keeps keys and state out of git"],
  ] as const;
  const steps = files.map(([path, text, what]): InitStep => {
    return { path, what, done: writeNew(path, text) ? "made" : "kept" };
  });
  return [...steps, ...linkEngine(folder)];
}

function linkEngine(folder: string): InitStep[] {
  const linked = linkPackage(folder, ENGINE_ENTRY);
  if (typeof linked === "string") return [];
  return [
    {
      path: linked.link,
      what: `for your tools to import; a link to ${linked.to}`,
      done: "made",
    },
  ];
}

/** The keys that sign tokens, and the one people show who run this server. */
async function placeKeys(stateFolder: string): Promise<InitStep[]> {
  const folder = keyFolder(stateFolder);
  const known = typeof currentKid(folder) === "string";
  const signing = known ? undefined : await initKeys(folder);
  if (signing && isFailure(signing)) throw new SallyportError(signing);
  const isThere = existsSync(join(folder, OPERATOR_KEY_FILE));
  const operator = must(ensureOperatorKey(folder));
  return [
    { path: folder, what: "the keys that sign tokens and grants", done: known ? "kept" : "made" },
    {
      path: operator.file,
      what: "your key as operator; keep it to yourself",
      done: isThere ? "kept" : "made",
    },
  ];
}

/** False when something is there already, a link too. */
function writeNew(path: string, text: string): boolean {
  try {
    writeFileSync(path, text, { flag: "wx" });
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EEXIST") return false;
    throw error;
  }
}

/** What the operating system refuses is said with the folder it is about. */
function atFolder<Result>(folder: string, make: () => Result): Result {
  try {
    return make();
  } catch (error) {
    const message = `${folder} cannot be made ready: ${error instanceof Error ? error.message : String(error)}`;
    const advice = "Choose a folder you may write to: sallyport init FOLDER";
    throw new SallyportError(failure("E3921", { message, advice }), { cause: error });
  }
}
