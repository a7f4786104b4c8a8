export { type AddressKind, addressKind } from "./address-kind.ts";
export type { Dial, DialOrder } from "./dial.ts";
export type { Resolve } from "./gate.ts";
export type { EgressUsage } from "./meter.ts";
export { type Egress, openEgress } from "./open-egress.ts";
export { DEFAULT_EGRESS_LIMITS, type EgressLimits, type EgressOptions } from "./options.ts";
export type { Refusal, RefusalCount } from "./refusals.ts";
