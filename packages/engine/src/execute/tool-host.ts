import {
  type Failure,
  failure,
  type JsonValue,
  type Risk,
  SallyportError,
  type SideEffects,
} from "@sallyport/protocol";
import type { ToolHost, UseOf } from "../ports/runner.ts";
import type { StateAccess } from "../ports/transaction.ts";
import type { FileAccess } from "../ports/workspace.ts";
import { GuardedFiles } from "./guarded-files.ts";
import { type CapabilityUsed, fitForRecord, UseLog } from "./use-log.ts";

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
  /** Told of each use that was allowed. */
  onUse?(capability: string, action: string | undefined, resource: string | undefined): void;
  /** How grave the misuse of a capability is; high when left out or not known. */
  severityOf?(capability: string): Risk | undefined;
  /** Called at the first breach; the call must not go on. */
  onViolation(violation: Failure): void;
  onProgress(percent: number, phase: string | undefined): void;
}

/** One use, as it is checked and recorded. */
export interface HostedUse extends CapabilityUsed {
  /** How large the file is, where the tool told it. */
  bytes?: number | undefined;
}

const MAX_PHASE_CHARS = 100;
const DEFAULT_SEVERITY: Risk = "high";

/**
 * What a tool may do while it runs, and no more (R1-5.2, R3-4): each use is checked against what the call was granted,
 * then against the grant it rests on, and counted. Access to state is such a use, of its key.
 */
export class GuardedHost implements ToolHost {
  /** What was used so far. */
  readonly uses = new UseLog();
  #files: GuardedFiles | undefined;
  readonly #options: HostOptions;

  constructor(options: HostOptions) {
    this.#options = options;
  }

  get files(): FileAccess {
    this.#files ??= new GuardedFiles(this.#options.files, (use) => {
      if (use.action === "read" || use.action === "list") this.#use(use);
      else this.#change(use);
    });
    return this.#files;
  }

  async get(key: string): Promise<JsonValue | undefined> {
    this.#use({ capability: "state.read", action: "read", resource: key });
    return await this.#options.state.get(key);
  }

  async put(key: string, value: JsonValue): Promise<void> {
    this.#change({ capability: "state.write", action: "write", resource: key });
    await this.#options.state.put(key, value);
  }

  async delete(key: string): Promise<void> {
    this.#change({ capability: "state.delete", action: "delete", resource: key });
    await this.#options.state.delete(key);
  }

  /** Every key with the prefix is what it is used on, which is more than the prefix itself. */
  async keys(prefix: string): Promise<string[]> {
    this.#use({ capability: "state.read", action: "list", resource: `${prefix}*` });
    return await this.#options.state.keys(prefix);
  }

  async use(capability: string, on: UseOf & { bytes?: number } = {}): Promise<void> {
    const { action, resource, bytes } = on;
    this.#use({ capability, action, resource, bytes });
  }

  progress(percent: number, phase?: string): void {
    const bounded = Math.min(100, Math.max(0, Number(percent)));
    if (Number.isNaN(bounded)) return;
    this.#options.onProgress(
      bounded,
      phase === undefined ? undefined : String(phase).slice(0, MAX_PHASE_CHARS),
    );
  }

  #use(use: HostedUse): void {
    const { tool, capabilities } = this.#options;
    const { capability, action, resource } = use;
    if (!capabilities.includes(capability)) {
      const message = `${tool} used ${fitForRecord(capability)}, which it does not declare or was not granted.`;
      this.#violate(use, failure("E3212", { message }));
    }
    const refused = this.#options.refuseUse?.(use);
    if (refused) this.#violate(use, refused);
    this.uses.add(use);
    this.#options.onUse?.(capability, action, resource);
  }

  #change(use: HostedUse): void {
    const { tool, sideEffects, capabilities } = this.#options;
    if (sideEffects === "none" && capabilities.includes(use.capability)) {
      const message = `${tool} declares no side effects and tried to change ${use.capability.startsWith("state") ? "state" : "files"}.`;
      this.#violate(use, failure("E3911", { message }));
    }
    this.#use(use);
  }

  /** A grant that was withdrawn or is used up is not the tool's fault, so only the tool's own breaches are rated. */
  #violate({ capability, action, resource }: HostedUse, refused: Failure): never {
    const severity = this.#options.severityOf?.(capability) ?? DEFAULT_SEVERITY;
    const details = {
      ...refused.details,
      capability: fitForRecord(capability),
      ...(action !== undefined && { action: fitForRecord(action) }),
      ...(resource !== undefined && { resource: fitForRecord(resource) }),
      ...(TOOLS_FAULT.has(refused.code) && { severity }),
    };
    const violation = { ...refused, details };
    this.#options.onViolation(violation);
    throw new SallyportError(violation);
  }
}

const TOOLS_FAULT = new Set(["E3212", "E3911"]);
