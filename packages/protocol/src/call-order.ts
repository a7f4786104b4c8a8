import type { JsonValue } from "./json.ts";
import type { ResourceLimits } from "./manifest.ts";
import type { Caller } from "./outcome.ts";

export const PRIORITIES = ["low", "normal", "high"] as const;
/** Who goes first when calls wait for room; it never lets a call pass a limit. */
export type Priority = (typeof PRIORITIES)[number];

export const ON_APPROVAL = ["deny", "wait", "pending"] as const;
/**
 * What to do when a person has to be asked. `deny`: ask nobody, the call is denied. `wait`: ask, and answer when the
 * person has. `pending`: ask, and answer at once that the call waits; it goes on when it is asked for again.
 */
export type OnApproval = (typeof ON_APPROVAL)[number];

/**
 * What a caller asks for, in no door's dialect. Everything here is a claim: the engine resolves, checks and
 * authorises it, and the door fills in the caller fields its own authentication vouches for.
 */
export interface CallOrder {
  tool: string;
  /** An exact version or a SemVer range; left out: the newest active one. */
  version?: string;
  /** Left out: the tool's only operation. */
  operation?: string;
  input: JsonValue;
  caller: Partial<Caller>;
  callId?: string;
  /** The caller's own name for the larger request this call belongs to; passed along, never interpreted. */
  correlationId?: string;
  /** The same key with the same order is answered from the record; with another order it is refused (E3904). */
  idempotencyKey?: string;
  token?: string;
  /** Capabilities that bound the call: it is refused when it needs another one (E3228). They grant nothing. */
  permissions?: string[];
  priority?: Priority;
  /** Demands approval even where policy would not; false never waives one. */
  requireApproval?: boolean;
  onApproval?: OnApproval;
  /** Runs it without effect: no network, and whatever it changes is shown and dropped. */
  dryRun?: boolean;
  /** Where a person has to be asked: try the call out first and show what it would change. */
  preview?: boolean;
  /** Accept it, and run it when there is room: the answer comes by status or callback. */
  asyncMode?: boolean;
  /** Told by an HTTP request when the call has ended. */
  callbackUrl?: string;
  /** May only tighten what the tool and the caller are allowed. */
  limits?: Partial<ResourceLimits>;
}
