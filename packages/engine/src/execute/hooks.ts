import { type CallStatus, type Failure, failure } from "@sallyport/protocol";
import type { ErrorHandler } from "../ports/platform.ts";
import type { Hook, HookCall } from "../ports/runner.ts";
import { TIMED_OUT, withTimeout } from "../timeouts.ts";

export interface HookRunner {
  /** Runs every `before`, in order; the first required one that fails refuses the call, the others still run. */
  before(call: HookCall): Promise<Failure | undefined>;
  /** Runs every `after`, in order, whatever the others do. */
  after(call: HookCall, ending: { status: CallStatus }): Promise<void>;
}

/** Runs hooks (MCX-2) one after the other, each on its own: one that throws or hangs does not touch the next. */
export function createHookRunner(
  hooks: readonly Hook[],
  options: { maxMs: number; errors: ErrorHandler },
): HookRunner {
  const attempt = async (hook: Hook, call: HookCall, run: () => unknown): Promise<boolean> => {
    try {
      const ended = await withTimeout((async () => run())(), options.maxMs);
      if (ended === TIMED_OUT) {
        throw failure("E3913", { message: `took longer than ${options.maxMs} ms` });
      }
      return true;
    } catch (error) {
      options.errors.report({
        error,
        code: "E3913",
        callId: call.callId,
        tool: call.tool,
        stage: `hook ${hook.name}`,
      });
      return false;
    }
  };
  return {
    async before(call) {
      let refusal: Failure | undefined;
      for (const hook of hooks) {
        const passed = await attempt(hook, call, () => hook.before?.(call));
        if (passed || hook.optional) continue;
        refusal ??= failure("E3913", {
          message: `Hook ${hook.name} refused the call.`,
          details: { hook: hook.name },
        });
      }
      return refusal;
    },
    async after(call, ending) {
      for (const hook of hooks) await attempt(hook, call, () => hook.after?.(call, ending));
    },
  };
}
