import type { CapabilityGrant } from "../../ports/grants.ts";
import { readCondition } from "./condition.ts";
import { readConstraint } from "./constraints.ts";
import type { GrantOffice, Grantor } from "./grant-draft.ts";
import { validGrantsOf } from "./held-grants.ts";
import { coversResource } from "./resource-match.ts";

/** An administrative act: the capability it is about is what it is done to. */
export interface AdministrativeAct {
  tenant: string;
  action: "grant" | "revoke";
  /** The capability, or the tool of a standing grant. */
  about: string;
}

/** Whether somebody may do it: an operator, or the holder of a valid `admin.capability.*` that covers it. */
export function mayAdminister(by: Grantor, act: AdministrativeAct, office: GrantOffice): boolean {
  if (by.operator) return true;
  const holder = { tenant: act.tenant, type: by.type ?? "USER", id: by.id } as const;
  return validGrantsOf(holder, office).some(
    (grant) => grant.capabilityId === `admin.capability.${act.action}` && covers(grant, { by, act, office }),
  );
}

interface Asked {
  by: Grantor;
  act: AdministrativeAct;
  office: GrantOffice;
}

/** Uses are counted by what the giver has given; conditions on a request do not hold, because there is none. */
function covers({ scope, constraints }: CapabilityGrant, { by, act, office }: Asked): boolean {
  const { actions, resources, conditions } = scope;
  if (actions.length > 0 && !actions.includes(act.action)) return false;
  if (!coversResource(resources, act.about)) return false;
  const holds = conditions.map(readCondition).every(({ evaluate }) => {
    const told = evaluate({ at: office.now, context: {}, location: {} });
    return told.ok && told.holds;
  });
  const given = office.held
    .filter(({ grantor }) => grantor === by.id)
    .map(({ issuedAt }) => issuedAt)
    .sort((a, b) => b - a);
  const facts = { at: office.now, calls: given.length, newestUse: (nth: number) => given[nth - 1] };
  return (
    holds &&
    constraints
      .map(readConstraint)
      .every(
        (constraint) =>
          !constraint.refuse(facts) && !constraint.refuse({ ...facts, use: { resource: act.about } }),
      )
  );
}
