import type { LookupAddress } from "node:dns";
import { isIP } from "node:net";
import type { EgressRule } from "@sallyport/engine/ports";
import { type AddressKind, addressKind } from "./address-kind.ts";
import { type Denial, forbidden, isDenial, unreached } from "./denial.ts";
import type { Destination } from "./destination.ts";
import { type ReadRule, ruleFor } from "./rules.ts";

/** Asks once for all addresses of a name. */
export type Resolve = (host: string) => Promise<LookupAddress[]>;

/** A destination its rules allow by name. */
export interface Admission {
  to: Destination;
  rule: EgressRule;
}

/** An address that was checked and may be dialled as it is. */
export interface CheckedAddress {
  address: string;
  kind: AddressKind;
}

/** An admission whose every address was checked. */
export interface Way extends Admission {
  addresses: readonly CheckedAddress[];
}

const NEVER = new Set<AddressKind>(["multicast", "broadcast", "unspecified", "invalid"]);
/** Too dear for a name whose DNS someone else may hold: the rule must list the address itself. */
const LISTED_ONLY = new Set<AddressKind>(["link-local", "metadata"]);

/** Decides who may be reached: by name first, then by every address the name leads to. */
export class Gate {
  readonly #rules: readonly ReadRule[];
  readonly #resolve: Resolve;

  constructor(rules: readonly ReadRule[], resolve: Resolve) {
    this.#rules = rules;
    this.#resolve = resolve;
  }

  /** By name and port alone. */
  admit(to: Destination): Admission | Denial {
    const found = ruleFor(this.#rules, to);
    if (found) return { to, rule: found.rule };
    return forbidden(
      to,
      `${to.name}:${to.port} is not among the hosts this tool may reach.`,
      `Add ${to.name}:${to.port} to permissions.network of the tool's manifest if it is meant to be reached.`,
    );
  }

  /** Resolves the name, once, and checks every address: one that may not be reached refuses them all. */
  async wayTo(admission: Admission): Promise<Way | Denial> {
    const found = await this.#lookUp(admission.to);
    if (isDenial(found)) return found;
    const addresses = found.map(({ address }) => ({ address, kind: addressKind(address) }));
    const bad = addresses.find(({ kind }) => !isReachable(kind, admission));
    return bad ? barred(admission, bad) : { ...admission, addresses };
  }

  async #lookUp(to: Destination): Promise<readonly LookupAddress[] | Denial> {
    if (to.address !== undefined) return [{ address: to.address, family: isIP(to.address) }];
    try {
      const found = await this.#resolve(to.name);
      return found.length > 0 ? found : unknownName(to);
    } catch {
      // What the resolver says is about this host's network, which is no business of the sandbox.
      return unknownName(to);
    }
  }
}

function isReachable(kind: AddressKind, { rule, to }: Admission): boolean {
  if (kind === "public") return true;
  if (NEVER.has(kind) || rule.allowPrivate !== true) return false;
  return to.address !== undefined || !LISTED_ONLY.has(kind);
}

function barred({ rule, to }: Admission, { address, kind }: CheckedAddress): Denial {
  const leads = to.address === undefined ? `leads to ${address}, ` : "is ";
  const listable = rule.allowPrivate === true && LISTED_ONLY.has(kind);
  const advice = listable
    ? "Such an address is reached only when the tool's permissions.network and sandbox.privateHosts list the address itself."
    : `Let the operator add ${rule.host} to sandbox.privateHosts if it is meant to lead there.`;
  return forbidden(
    to,
    `${to.name} ${leads}a ${kind} address, which is not open to this tool.`,
    NEVER.has(kind) ? "Such an address is never reached." : advice,
  );
}

function unknownName(to: Destination): Denial {
  return unreached(to, "E3304", { message: `${to.name} could not be resolved.` });
}
