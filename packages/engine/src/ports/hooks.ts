import type { CallStatus } from "@sallyport/protocol";
import type { CallFacts } from "./runner.ts";

export interface HookCall extends CallFacts {
  tool: string;
  version: string;
  operation: string;
}

/**
 * Runs around every execution (MCX-2), in the order given. A `before` that throws refuses the call unless it is
 * marked `optional`; an `after` always runs, and whatever it throws is reported and changes nothing.
 */
export interface Hook {
  name: string;
  optional?: boolean;
  before?(call: HookCall): void | Promise<void>;
  after?(call: HookCall, ending: { status: CallStatus }): void | Promise<void>;
}
