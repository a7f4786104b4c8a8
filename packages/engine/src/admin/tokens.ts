import { type Failure, failure } from "@sallyport/protocol";
import { auditBody, SYSTEM_TENANT } from "../audit/index.ts";
import type { EngineContext } from "../context.ts";
import type { AuthoritySources } from "../ports/authority.ts";
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
      if (typeof jti === "string") withdrawToken(jti, inFlight);
    }),
    bus.subscribe("grants:updates", ({ revoked }) => {
      if (Array.isArray(revoked)) withdrawGrants(revoked.map(String), inFlight);
    }),
  ];
}

/** What an authority reads. A revocation that it reads ends the running calls too: its message may have been lost. */
export function watchedSources({
  store,
  inFlight,
}: Pick<EngineContext, "store" | "inFlight">): Pick<AuthoritySources, "grants" | "revocations"> {
  const { grants, revocations } = store;
  return {
    grants: {
      get: (grantId) => grants.get(grantId),
      changedSince: async (cursor) => {
        const found = await grants.changedSince(cursor);
        const revoked = found.changed.filter(({ revokedAt }) => revokedAt !== undefined);
        withdrawGrants(
          revoked.map(({ grantId }) => grantId),
          inFlight,
        );
        return found;
      },
    },
    revocations: {
      changedSince: async (cursor) => {
        const found = await revocations.changedSince(cursor);
        for (const { jti } of found.changed) withdrawToken(jti, inFlight);
        return found;
      },
    },
  };
}

function withdrawToken(jti: string, inFlight: EngineContext["inFlight"]): void {
  inFlight.withdraw({ jti }, failure("E3217", { message: "The call's token was revoked while it ran." }));
}

function withdrawGrants(grants: string[], inFlight: EngineContext["inFlight"]): void {
  if (grants.length === 0) return;
  const message = "A grant the call rests on was revoked while it ran.";
  inFlight.withdraw({ grants }, failure("E3217", { message }));
}
