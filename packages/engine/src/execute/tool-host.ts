import { type Failure, failure, type JsonValue, SallyportError, type SideEffects } from "@sallyport/protocol";
import type { ToolHost } from "../ports/runner.ts";
import type { StateAccess } from "../ports/transaction.ts";

interface HostOptions {
  tool: string;
  state: StateAccess;
  /** The capabilities this call was granted, which are at most those the tool declares. */
  capabilities: readonly string[];
  sideEffects: SideEffects;
  /** Called at the first breach; the call must not go on. */
  onViolation(violation: Failure): void;
  onProgress(percent: number, phase: string | undefined): void;
}

const MAX_PHASE_CHARS = 100;

/** What a tool may do while it runs, and no more (R1-5.2): each use is checked against what the call was granted. */
export class GuardedHost implements ToolHost {
  readonly #options: HostOptions;

  constructor(options: HostOptions) {
    this.#options = options;
  }

  async get(key: string): Promise<JsonValue | undefined> {
    this.#need("state.read");
    return await this.#options.state.get(key);
  }

  async put(key: string, value: JsonValue): Promise<void> {
    this.#need("state.write");
    this.#mayChange();
    await this.#options.state.put(key, value);
  }

  async delete(key: string): Promise<void> {
    this.#need("state.delete");
    this.#mayChange();
    await this.#options.state.delete(key);
  }

  async keys(prefix: string): Promise<string[]> {
    this.#need("state.read");
    return await this.#options.state.keys(prefix);
  }

  async use(capability: string): Promise<void> {
    this.#need(capability);
  }

  progress(percent: number, phase?: string): void {
    const bounded = Math.min(100, Math.max(0, Number(percent)));
    if (Number.isNaN(bounded)) return;
    this.#options.onProgress(
      bounded,
      phase === undefined ? undefined : String(phase).slice(0, MAX_PHASE_CHARS),
    );
  }

  #need(capability: string): void {
    const { tool, capabilities } = this.#options;
    if (capabilities.includes(capability)) return;
    const message = `${tool} used ${capability}, which it does not declare or was not granted.`;
    this.#refuse(failure("E3212", { message, details: { capability } }));
  }

  #mayChange(): void {
    const { tool, sideEffects } = this.#options;
    if (sideEffects !== "none") return;
    this.#refuse(
      failure("E3911", { message: `${tool} declares no side effects and tried to change state.` }),
    );
  }

  #refuse(violation: Failure): never {
    this.#options.onViolation(violation);
    throw new SallyportError(violation);
  }
}
