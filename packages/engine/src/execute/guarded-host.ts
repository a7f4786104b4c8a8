import { posix } from "node:path";
import {
  type Failure,
  failure,
  type JsonValue,
  type Risk,
  SallyportError,
  type SideEffects,
} from "@sallyport/protocol";
import type { ToolHost, UseOf } from "../ports/runner.ts";
import type { StateAccess } from "../ports/state.ts";
import type { FileAccess } from "../ports/workspace.ts";
import { boundedText } from "../redact/redact.ts";
import { HOST_OPS, type HostOp, hostPart, performHostOp } from "./runners/host-ops.ts";

interface HostOptions {
  tool: string;
  state: StateAccess;
  /** Left out: the tool has no workspace. */
  files?: FileAccess | undefined;
  /** The capabilities this call was granted, which are at most those the tool declares. */
  capabilities: readonly string[];
  sideEffects: SideEffects;
  /** Why a granted capability may not be used this way; undefined when it may. Left out: it always may. */
  refuseUse?(use: HostedUse): Failure | undefined;
  /** How grave the misuse of a capability is; high when left out or not known. */
  severityOf?(capability: string): Risk | undefined;
  /** Called at the first breach; the call must not go on. */
  onViolation(violation: Failure): void;
  onProgress(percent: number, phase: string | undefined): void;
  /** How many bytes of output are shown. */
  maxOutputBytes: number;
  onOutput(chunk: Uint8Array): void;
}

/** One use of a capability, as it is checked and recorded. */
export interface HostedUse {
  capability: string;
  /** What it was used for; left out: nothing in particular. */
  action?: string | undefined;
  /** What it was used on: a key, a path, a host. */
  resource?: string | undefined;
  /** How large the file is, where the tool told it. */
  bytes?: number | undefined;
}

const MAX_PHASE_CHARS = 100;
/** Of a tool's own texts on record. */
const MAX_RESOURCE_CHARS = 200;
const DEFAULT_SEVERITY: Risk = "high";
/** Only the tool's own breaches are rated: it is not its fault that a grant was withdrawn or is used up. */
const TOOLS_FAULT = new Set(["E3212", "E3911"]);

/**
 * What a tool may do while it runs, and no more (R1-5.2, R3-4): each use is checked against what the call was granted, then
 * against the grant it rests on, and counted. Access to state is such a use, of its key; access to a file, of its path.
 */
export class GuardedHost implements ToolHost {
  /** What was used so far. */
  readonly uses = new UseLog();
  #files: FileAccess | undefined;
  #shownBytes = 0;
  readonly #options: HostOptions;

  constructor(options: HostOptions) {
    this.#options = options;
  }

  get files(): FileAccess {
    this.#files ??= hostPart("files", async (op, args) => {
      this.#access(op, args);
      return await performHostOp({ files: this.#options.files ?? noWorkspace() }, op, args);
    });
    return this.#files;
  }

  async get(key: string): Promise<JsonValue | undefined> {
    this.#access("get", [key]);
    return await this.#options.state.get(key);
  }

  async put(key: string, value: JsonValue): Promise<void> {
    this.#access("put", [key]);
    await this.#options.state.put(key, value);
  }

  async delete(key: string): Promise<void> {
    this.#access("delete", [key]);
    await this.#options.state.delete(key);
  }

  async keys(prefix: string): Promise<string[]> {
    this.#access("keys", [prefix]);
    return await this.#options.state.keys(prefix);
  }

  async use(capability: string, { action, resource, bytes }: UseOf = {}): Promise<void> {
    this.#use({ capability, action, resource, bytes });
  }

  progress(percent: number, phase?: string): void {
    const bounded = Math.min(100, Math.max(0, Number(percent)));
    if (Number.isNaN(bounded)) return;
    const said = phase === undefined ? undefined : String(phase).slice(0, MAX_PHASE_CHARS);
    this.#options.onProgress(bounded, said);
  }

  async output(text: string): Promise<boolean> {
    const chunk = Buffer.from(text);
    const fits = this.#shownBytes + chunk.byteLength <= this.#options.maxOutputBytes;
    if (!fits) return false;
    this.#shownBytes += chunk.byteLength;
    this.#options.onOutput(chunk);
    return true;
  }

  /** Checks the uses that an operation is, and that a tool without side effects changes nothing. */
  #access(op: HostOp, args: readonly unknown[]): void {
    const { tool, sideEffects, capabilities } = this.#options;
    for (const use of usesOf(op, args, capabilities)) {
      const changes = use.action !== "read" && use.action !== "list";
      if (changes && sideEffects === "none" && capabilities.includes(use.capability)) {
        const message = `${tool} declares no side effects and tried to change ${HOST_OPS[op].part}.`;
        this.#violate(use, failure("E3911", { message }));
      }
      this.#use(use);
    }
  }

  #use(use: HostedUse): void {
    const { tool, capabilities } = this.#options;
    const { capability } = use;
    if (!capabilities.includes(capability)) {
      const message = `${tool} used ${boundedText(capability, MAX_RESOURCE_CHARS)}, which it does not declare or was not granted.`;
      this.#violate(use, failure("E3212", { message }));
    }
    const refused = this.#options.refuseUse?.(use);
    if (refused) this.#violate(use, refused);
    this.uses.add(use);
  }

  #violate({ capability, action, resource }: HostedUse, refused: Failure): never {
    const severity = this.#options.severityOf?.(capability) ?? DEFAULT_SEVERITY;
    const details = {
      ...refused.details,
      capability: boundedText(capability, MAX_RESOURCE_CHARS),
      ...(action !== undefined && { action: boundedText(action, MAX_RESOURCE_CHARS) }),
      ...(resource !== undefined && { resource: boundedText(resource, MAX_RESOURCE_CHARS) }),
      ...(TOOLS_FAULT.has(refused.code) && { severity }),
    };
    const violation = { ...refused, details };
    this.#options.onViolation(violation);
    throw new SallyportError(violation);
  }
}

/** What an operation uses. Every key with a prefix is more than the prefix. */
function usesOf(op: HostOp, args: readonly unknown[], capabilities: readonly string[]): HostedUse[] {
  const [on, second] = args;
  const { uses: [capability = "", action = ""] = [] } = HOST_OPS[op];
  const use = { capability, action, resource: op === "keys" ? `${on}*` : String(on) };
  if (op === "write") return [{ ...use, bytes: Buffer.byteLength(second as string | Uint8Array) }];
  if (op === "rename") return [use, ...reads(String(on), capabilities), ...writes(String(second))];
  if (op !== "link") return [use];
  const target = posix.join(
    posix.isAbsolute(String(second)) ? "/" : posix.dirname(String(on)),
    String(second),
  );
  return [use, ...reads(target, capabilities), ...writes(target)];
}

/**
 * A renamed file is read under its new name, and a link leads to its target under its own: a tool that may read must be
 * allowed to read the old name and the target. One that may not read at all learns nothing by it.
 */
function reads(resource: string, capabilities: readonly string[]): HostedUse[] {
  const capability = "filesystem.read";
  return capabilities.includes(capability) ? [{ capability, action: "read", resource }] : [];
}

function writes(resource: string): HostedUse[] {
  return [{ capability: "filesystem.write", action: "write", resource }];
}

function noWorkspace(): never {
  const message = "The tool has no workspace: its manifest permits no folder, or this engine has none.";
  const advice =
    "Add a folder to `permissions.filesystem` of the manifest; an embedder also gives the engine `isolation`.";
  throw new SallyportError(failure("E3105", { message, advice }));
}

/** The uses of one capability for one action. The fields are in the order of canonical JSON. */
interface UseEntry {
  action?: string;
  capability: string;
  /** What it was first used on. */
  first?: string;
  /** What it was last used on, where that differs. */
  last?: string;
  uses: number;
}

const MAX_ENTRIES = 64;

interface CountedUse extends HostedUse {
  last?: string | undefined;
  uses: number;
}

/** Every use a tool made while it ran, counted by capability and action; bounded, whatever the tool does. */
export class UseLog {
  #counted: Map<string, CountedUse> | undefined;
  #more = 0;

  /** Uses that belong to none of the entries, because there were too many kinds of them. */
  get more(): number {
    return this.#more;
  }

  add({ capability, action, resource }: HostedUse): void {
    this.#counted ??= new Map();
    const kind = action === undefined ? capability : `${capability}\n${action}`;
    const known = this.#counted.get(kind);
    if (known) {
      known.uses += 1;
      known.last = resource ?? known.last;
    } else if (this.#counted.size < MAX_ENTRIES) {
      this.#counted.set(kind, { capability, action, resource, uses: 1 });
    } else {
      this.#more += 1;
    }
  }

  /** In the order of first use, fit for the record: bounded texts without credentials. */
  entries(): UseEntry[] {
    return [...(this.#counted?.values() ?? [])].map(({ capability, action, resource, last, uses }) => ({
      ...(action !== undefined && { action: boundedText(action, MAX_RESOURCE_CHARS) }),
      capability: boundedText(capability, MAX_RESOURCE_CHARS),
      ...(resource !== undefined && { first: boundedText(resource, MAX_RESOURCE_CHARS) }),
      ...(last !== undefined && last !== resource && { last: boundedText(last, MAX_RESOURCE_CHARS) }),
      uses,
    }));
  }
}
