import type { Grantee } from "../../ports/grants.ts";
import type { FiledGrant } from "./filed-grant.ts";
import type { GrantQuery } from "./judge-grant.ts";

/** Finds grants by who holds them and what they give. A grantee's name and a capability are matched exactly. */
export class HolderIndex {
  readonly #grants = new Map<string, FiledGrant[]>();

  add(filed: FiledGrant): void {
    const key = keyOf(filed);
    this.#grants.set(key, [...(this.#grants.get(key) ?? []), filed].sort(byAge));
  }

  remove(filed: FiledGrant): void {
    const key = keyOf(filed);
    const left = (this.#grants.get(key) ?? []).filter((other) => other !== filed);
    if (left.length > 0) this.#grants.set(key, left);
    else this.#grants.delete(key);
  }

  /** Oldest first: those of the tool, then those of the user, then those of the roles. */
  find({ request, roles = [] }: GrantQuery, capability: string): FiledGrant[] {
    const { tool } = request;
    const { tenant, user } = request.caller;
    const holders: Grantee[] = [
      { type: "TOOL", id: tool },
      ...(user === undefined ? [] : [{ type: "USER" as const, id: user }]),
      ...roles.map((id) => ({ type: "ROLE" as const, id })),
    ];
    return holders.flatMap((holder) => this.#grants.get(key(tenant, holder, capability)) ?? []);
  }
}

function keyOf({ record }: FiledGrant): string {
  return key(record.tenant, record.grantee, record.capabilityId);
}

function key(tenant: string, { type, id }: Grantee, capability: string): string {
  return JSON.stringify([tenant, type, id, capability]);
}

function byAge({ record: a }: FiledGrant, { record: b }: FiledGrant): number {
  return a.issuedAt - b.issuedAt || (a.grantId < b.grantId ? -1 : 1);
}
