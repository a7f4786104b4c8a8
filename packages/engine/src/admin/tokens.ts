import { type Failure, failure } from "@sallyport/protocol";
import { auditBody, SYSTEM_TENANT } from "../audit/index.ts";
import type { EngineContext } from "../context.ts";
import type { Revocation } from "../ports/grants.ts";

/** Which token is not to be accepted any more, and why. */
export interface RevocationOrder {
  jti: string;
  by: string;
  reason: string;
  /** When the token expires anyway. */
  forgetAt: number;
}

/** Puts a revocation on record and tells everybody. Idempotent; a failure means that it is not on record. */
export async function revokeToken(
  order: RevocationOrder,
  context: Pick<EngineContext, "store" | "clock" | "ids" | "bus">,
): Promise<Revocation | Failure> {
  const { jti, by, reason, forgetAt } = order;
  const revocation: Revocation = { jti, by, reason, forgetAt, revokedAt: context.clock.now() };
  const event = JSON.stringify({
    by: by.toWellFormed(),
    eventId: context.ids.next(),
    jti: jti.toWellFormed(),
    reason: reason.toWellFormed(),
    state: "TOKEN_REVOKED",
    timestamp: revocation.revokedAt,
  });
  const audit = auditBody(SYSTEM_TENANT, [event]);
  const unit = { tenant: SYSTEM_TENANT, revocations: [revocation], audit };
  const result = await context.store.commit(unit);
  if (!result.ok) {
    return failure("E3914", { message: `The revocation could not be kept (${result.conflict.kind}).` });
  }
  context.bus.publish("token:revocations", { jti, forgetAt });
  return revocation;
}

/** Ends the running calls whose grant or token is revoked. Returns how to stop listening. */
export function endWithdrawn({ bus, inFlight }: Pick<EngineContext, "bus" | "inFlight">): (() => void)[] {
  return [
    bus.subscribe("token:revocations", ({ jti }) => {
      if (typeof jti !== "string") return;
      inFlight.withdraw({ jti }, failure("E3217", { message: "The call's token was revoked while it ran." }));
    }),
    bus.subscribe("grants:updates", ({ revoked }) => {
      if (!Array.isArray(revoked) || revoked.length === 0) return;
      const message = "A grant the call rests on was revoked while it ran.";
      inFlight.withdraw({ grants: revoked.map(String) }, failure("E3217", { message }));
    }),
  ];
}
