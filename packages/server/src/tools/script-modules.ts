import { hash } from "node:crypto";
import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  mkdtempSync,
  openSync,
  readFileSync,
  realpathSync,
  rmSync,
} from "node:fs";
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { nodeRuntime } from "@sallyport/adapters/sandbox-runners";
import {
  createSchemaCompiler,
  decodeManifest,
  type ReadManifests,
  readManifests,
} from "@sallyport/engine/host";
import type { Sandbox } from "@sallyport/engine/ports";
import {
  type Failure,
  failure,
  type IsolationLevel,
  SallyportError,
  type ToolManifest,
} from "@sallyport/protocol";
import type { LoadedConfig } from "../config/load.ts";
import type { FoundTool } from "../reload/read-module.ts";
import { hiddenPaths, openSandbox } from "../runtime/isolation.ts";
import { VERSION } from "../version.ts";

/** What a sandboxed module says about its tools, and the files that it is made of. */
export interface ScriptModule {
  tools: FoundTool[];
  files: { path: string; digest: string }[];
}

interface ScriptModulesOptions {
  /** The open runtime's own; left out: one is made when it is needed. */
  sandbox?: Sandbox | undefined;
  /** True for the process that owns the state folder: what was read is kept there. Others only look it up. */
  keep: boolean;
}

const MAX_FILES = 5_000;
const MAX_FILE_BYTES = 16 * 1_048_576;
/** A file changed this shortly before the reading, or later, may not be the one that was read. */
const CLOCK_STEP_MS = 50;

/**
 * Reads the manifests of modules with `runner: script`, whose code never runs outside a sandbox. What was read is kept
 * in the state folder, which no sandboxed tool sees, and holds as long as every file of the module has the same digest.
 */
export class ScriptModules {
  readonly #config: LoadedConfig;
  readonly #keep: boolean;
  #sandbox: Sandbox | undefined;
  #ownFolder: string | undefined;

  constructor(config: LoadedConfig, { sandbox, keep }: ScriptModulesOptions) {
    this.#config = config;
    this.#sandbox = sandbox;
    this.#keep = keep;
  }

  /** E3101 where there is no sandbox on this host, E3920 where the module cannot be read or exports no tool. */
  async read(path: string): Promise<ScriptModule | Failure> {
    const kept = await this.#lookUp(path);
    if (kept) return kept;
    const startedAt = Date.now();
    try {
      const { tools, files } = await this.#readInSandbox(path);
      if (tools.length === 0) return noTool(path);
      const judged = tools.map(({ manifest, programs }) => ({ manifest: judge(manifest), programs }));
      const digests = digestsOf([path, ...files.filter(isPlain)]);
      const isCertain = digests.every(({ changedAt }) => changedAt < startedAt - CLOCK_STEP_MS);
      const found = {
        tools: judged,
        files: digests.map(({ path: file, digest }) => ({ path: file, digest })),
      };
      if (this.#keep && isCertain && files.length < MAX_FILES) await this.#store(path, found);
      return found;
    } catch (error) {
      return notRead(path, error);
    }
  }

  /** Ends what this reader started. */
  async close(): Promise<void> {
    if (this.#ownFolder === undefined) return;
    await this.#sandbox?.close();
    rmSync(this.#ownFolder, { recursive: true, force: true });
  }

  #readInSandbox(path: string): Promise<ReadManifests> {
    const { folder } = this.#config;
    const sandbox = this.#sandbox ?? this.#openOwn();
    return readManifests(pathToFileURL(path).href, {
      ...nodeRuntime(folder),
      ...{ sandbox, level: this.#level(), hidden: hiddenPaths(this.#config) },
    });
  }

  #openOwn(): Sandbox {
    this.#ownFolder = mkdtempSync(join(tmpdir(), "sallyport-read-"));
    this.#sandbox = openSandbox({ ...this.#config, stateFolder: this.#ownFolder }, this.#ownFolder);
    return this.#sandbox;
  }

  /** The tools of a module are not known before it was read, so only a rule about all of them counts. */
  #level(): IsolationLevel {
    const { weaker } = this.#config.sandbox;
    return weaker.find(({ tools }) => tools.includes("*"))?.level ?? "LEVEL_2";
  }

  #entryOf(path: string): string {
    const reader = `${VERSION} ${process.version} ${path}`;
    return join(this.#config.stateFolder, "manifests", `${hash("sha256", reader)}.json`);
  }

  async #lookUp(path: string): Promise<ScriptModule | undefined> {
    try {
      const kept: ScriptModule = JSON.parse(await readFile(this.#entryOf(path), "utf8"));
      const now = digestsOf(kept.files.map((file) => file.path));
      const isSame = kept.files.every(({ digest }, index) => now[index]?.digest === digest);
      return isSame && kept.files.length > 0 ? kept : undefined;
    } catch {
      // Never read, half written or damaged, or a file of the module is gone: it is read again.
      return undefined;
    }
  }

  async #store(path: string, found: ScriptModule): Promise<void> {
    const entry = this.#entryOf(path);
    await mkdir(join(entry, ".."), { recursive: true, mode: 0o700 });
    const draft = `${entry}.${process.pid}`;
    await writeFile(draft, JSON.stringify(found), { mode: 0o600 });
    await rename(draft, entry);
  }
}

/** What a link leads to was perhaps not shown to the module, and must not be opened for it. */
function isPlain(path: string): boolean {
  return existsSync(path) && realpathSync(path) === path;
}

/** A module may name whatever its sandbox showed it; only ordinary files of a fair size are read for it. */
function digestsOf(paths: readonly string[]): { path: string; digest: string; changedAt: number }[] {
  return [...new Set(paths)].slice(0, MAX_FILES).map((path) => {
    const handle = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const stat = fstatSync(handle);
      if (!stat.isFile() || stat.size > MAX_FILE_BYTES) throw new Error(`${path} cannot be part of a module`);
      return { path, digest: hash("sha256", readFileSync(handle)), changedAt: stat.ctimeMs };
    } finally {
      closeSync(handle);
    }
  });
}

function judge(manifest: unknown): ToolManifest {
  const decoded = decodeManifest(manifest, createSchemaCompiler());
  if (decoded.ok) return decoded.manifest;
  throw new SallyportError(decoded.failure);
}

function noTool(path: string): Failure {
  return failure("E3920", {
    message: `The module ${path} exports no tool.`,
    advice: "Export what defineTool() returns, by name or as default.",
  });
}

function notRead(path: string, error: unknown): Failure {
  if (!(error instanceof SallyportError)) {
    const why = error instanceof Error ? error.message : String(error);
    return failure("E3920", { message: `The tool module ${path} cannot be loaded: ${why}` });
  }
  const { code, message, advice } = error.failure;
  if (code === "E3008") return error.failure;
  return failure(code, {
    message: `The manifest of ${path} was not read, because its code runs only in a sandbox: ${message}`,
    advice: `${advice} Or give the module another runner, if you trust its code.`,
    details: { module: path, manifest: "not read" },
  });
}
