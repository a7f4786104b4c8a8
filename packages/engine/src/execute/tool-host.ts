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

/** What a tool may do while it runs, and no more (R1-5.2): each use is checked against what the call was granted. */
export function createToolHost(options: HostOptions): ToolHost {
  const { state, onViolation } = options;
  const refuse = (violation: Failure): never => {
    onViolation(violation);
    throw new SallyportError(violation);
  };
  const need = (capability: string): void => {
    if (options.capabilities.includes(capability)) return;
    const message = `${options.tool} used ${capability}, which it does not declare or was not granted.`;
    refuse(failure("E3212", { message, details: { capability } }));
  };
  const mayChange = (): void => {
    if (options.sideEffects !== "none") return;
    refuse(
      failure("E3911", { message: `${options.tool} declares no side effects and tried to change state.` }),
    );
  };
  return {
    async get(key) {
      need("state.read");
      return await state.get(key);
    },
    async put(key, value: JsonValue) {
      need("state.write");
      mayChange();
      await state.put(key, value);
    },
    async delete(key) {
      need("state.delete");
      mayChange();
      await state.delete(key);
    },
    async keys(prefix) {
      need("state.read");
      return await state.keys(prefix);
    },
    async use(capability) {
      need(capability);
    },
    progress(percent, phase) {
      const bounded = Math.min(100, Math.max(0, Number(percent)));
      if (!Number.isNaN(bounded))
        options.onProgress(bounded, phase === undefined ? undefined : String(phase).slice(0, 100));
    },
  };
}
