import { createEngine } from "../call/engine.ts";
import type { Authority } from "../ports/authority.ts";
import { type Box, fillBox, type Seen } from "./box.ts";
import { capabilitySystemIsActive } from "./integration/capabilities.ts";
import { errorHandlerIsActive } from "./integration/error-handler.ts";
import { type SandboxParts, sandboxIsActive } from "./integration/sandbox.ts";
import { telemetryIsActive } from "./integration/telemetry.ts";
import { transactionIsActive } from "./integration/transaction.ts";
import type { EngineFactory } from "./probe-house.ts";

/** What the checks need to know of the house they speak for. */
export interface HouseFacts {
  /** Its own authority, which must deny what nobody gave; left out, only the probes' authority is asked. */
  authority?: Authority;
  /** Its own sandbox; left out, the box stays open. */
  sandbox?: SandboxParts;
}

type Check = (make: EngineFactory, facts: HouseFacts) => Promise<Seen>;

const CHECKS: readonly (readonly [id: string, title: string, check: Check])[] = [
  ["9.3.1", "the transaction is in force", transactionIsActive],
  ["9.3.2", "the error handler is in force", errorHandlerIsActive],
  ["9.3.3", "telemetry is in force", telemetryIsActive],
  [
    "9.3.4",
    "the capability system is in force",
    (make, facts) => capabilitySystemIsActive(make, facts.authority),
  ],
  ["9.3.5", "a sandbox is in force", (make, facts) => sandboxIsActive(make, facts.sandbox)],
];

/** The five boxes of what the runtime is joined to, from real calls on private engines. Never rejects. */
export async function integrationBoxes(
  facts: HouseFacts = {},
  make: EngineFactory = createEngine,
): Promise<Box[]> {
  const boxes: Box[] = [];
  for (const [id, title, check] of CHECKS) {
    boxes.push(await fillBox({ id, section: "integration", title }, () => check(make, facts)));
  }
  return boxes;
}
