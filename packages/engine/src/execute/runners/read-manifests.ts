import { fileURLToPath } from "node:url";
import { type IsolationLevel, isJsonObject, type JsonValue, parseJsonObject } from "@sallyport/protocol";
import type { ProcessProgram } from "../../ports/runner.ts";
import type { Sandbox, SandboxEnding, SandboxMount, SandboxOrder } from "../../ports/sandbox.ts";
import { isWithin } from "../confinement.ts";
import { runtimeMounts } from "./script-spec.ts";
import { KeptOutput } from "./supervise.ts";
import { cleanText } from "./tool-result.ts";
import { programBeside } from "./wire.ts";

const MIB = 1_048_576;
const LIMITS = {
  wallMs: 30_000,
  memoryBytes: 512 * MIB,
  processes: 64,
  openFiles: 256,
  fileBytes: 16 * MIB,
  diskBytes: 16 * MIB,
  outputBytes: 16 * MIB,
  connections: 0,
};
const MAX_STDERR_TAIL_BYTES = 2_048;

/** Where and how a module's manifests are read. */
interface ManifestReading {
  sandbox: Sandbox;
  level: IsolationLevel;
  /** As for `createScriptRunner`. */
  node: { path: string; mounts: readonly SandboxMount[] };
  /** Host paths that the module must not see. */
  hidden: readonly string[];
}

/** What a module says about its tools. Nobody has judged the manifests yet. */
export interface ReadManifests {
  tools: { manifest: JsonValue; programs: Record<string, ProcessProgram> }[];
  /** The files that it says it is made of: only ones that its sandbox showed it. */
  files: string[];
}

/**
 * Imports a module in a sandbox of its own, without network and without anything it could change, and takes its
 * manifests for an enemy's word. Rejects as `Sandbox.start` does, or with an Error that says why nothing was read.
 */
export async function readManifests(moduleUrl: string, reading: ManifestReading): Promise<ReadManifests> {
  const { sandbox, level, node, hidden } = reading;
  const mounts = runtimeMounts(moduleUrl, node.mounts, { mounts: [] });
  const process = await sandbox.start({
    id: `manifests-${globalThis.crypto.randomUUID()}`,
    argv: [node.path, fileURLToPath(programBeside(import.meta.url, "manifest-entry")), moduleUrl],
    ...{ level, mounts, hidden, env: {}, cwd: "/tmp", egress: [], limits: LIMITS },
  });
  const stdout = new KeptOutput(process.stdout, { maxBytes: LIMITS.outputBytes, keep: "start" });
  const stderr = new KeptOutput(process.stderr, { maxBytes: MAX_STDERR_TAIL_BYTES, keep: "end" });
  process.stdin.on("error", () => undefined).end();
  const { ending } = await process.ended;
  await Promise.all([stdout.closed(), stderr.closed()]);
  const tail = cleanText(stderr.tailText().trim());
  if (ending.kind !== "exited" || ending.code !== 0) throw new Error(endingText(ending, tail));
  const { tools, files } = decode(stdout.kept.toString("utf8"));
  return { tools, files: files.filter((path) => isVisible(path, { mounts, hidden })) };
}

function endingText(ending: SandboxEnding, tail: string): string {
  const printed = tail && `; it printed: ${tail}`;
  if (ending.kind === "timeout") return `it did not finish loading in ${LIMITS.wallMs} ms${printed}`;
  const why = "message" in ending ? ending.message : `its process ended (${JSON.stringify(ending)})`;
  return `${why}${printed}`;
}

function isVisible(path: string, { mounts, hidden }: Pick<SandboxOrder, "mounts" | "hidden">): boolean {
  const isHidden = hidden.some((folder) => isWithin(path, folder));
  return !isHidden && mounts.some(({ source }) => isWithin(path, source));
}

function decode(text: string): ReadManifests {
  const said = parseJsonObject(text);
  if (!said) throw new Error("it ended its process while it was loaded");
  if (typeof said.error === "string") throw new Error(cleanText(said.error));
  const tools = Array.isArray(said.tools) ? said.tools : [];
  const files = Array.isArray(said.files) ? said.files.flatMap(pathOf) : [];
  return { tools: tools.map(decodeTool), files };
}

function pathOf(url: JsonValue): string[] {
  try {
    return typeof url === "string" ? [fileURLToPath(url)] : [];
  } catch {
    return [];
  }
}

function decodeTool(tool: JsonValue): ReadManifests["tools"][number] {
  const { manifest = null, programs = {} } = isJsonObject(tool) ? tool : {};
  if (!isJsonObject(programs)) throw new Error("one of its tools has programs that are no object");
  const entries = Object.entries(programs).map(([name, program]) => [name, decodeProgram(program)] as const);
  return { manifest, programs: Object.fromEntries(entries) };
}

function decodeProgram(program: JsonValue): ProcessProgram {
  if (!isProgram(program)) throw new Error("one of its tools has a program that defineCommand did not make");
  const { command, stdin, stdout, success, env } = program;
  return { command, stdin, stdout, success, env };
}

function isProgram(value: unknown): value is ProcessProgram {
  if (typeof value !== "object" || value === null) return false;
  const { command, stdin, stdout, success, env } = value as Partial<Record<keyof ProcessProgram, unknown>>;
  const isText = (one: unknown) => typeof one === "string";
  return (
    Array.isArray(command) &&
    command.length > 0 &&
    command.every(isText) &&
    (stdin === "json" || stdin === "none") &&
    (stdout === "json" || stdout === "text") &&
    Array.isArray(success) &&
    success.every(Number.isInteger) &&
    typeof env === "object" &&
    env !== null &&
    Object.values(env).every(isText)
  );
}
