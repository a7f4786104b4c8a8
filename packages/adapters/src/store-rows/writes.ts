import type { Conflict, GrantUse, StateWrites } from "@sallyport/engine/ports";

/** The conflict that kept a unit from being applied, by its kind and particulars. */
export type Refusal =
  | [kind: "fenced" | "duplicate_call" | "not_open" | "not_waiting"]
  | [kind: "approval", approvalId: string]
  | [kind: "grant", grantId: string]
  | [kind: "grant_spent", grantId: string, freeAt?: number | null]
  | [kind: "callback", callId: string]
  | [kind: "tool", tool: string, version: string]
  | [kind: "record", of: string, id: string]
  | [kind: "state", keys: string[]];

/** The same as the port names it. */
export function conflictOf(refusal: Refusal): Conflict {
  switch (refusal[0]) {
    case "approval":
      return { kind: "approval", approvalId: refusal[1] };
    case "grant":
      return { kind: "grant", grantId: refusal[1] };
    case "grant_spent": {
      const [kind, grantId, freeAt] = refusal;
      return { kind, grantId, ...(typeof freeAt === "number" && { freeAt }) };
    }
    case "callback":
      return { kind: "callback", callId: refusal[1] };
    case "tool":
      return { kind: "tool", tool: refusal[1], version: refusal[2] };
    case "record":
      return { kind: "record", of: refusal[1], id: refusal[2] };
    case "state":
      return { kind: "state", keys: refusal[1] };
    default:
      return { kind: refusal[0] };
  }
}

export function isLimited({ maxUses, rates }: Pick<GrantUse, "maxUses" | "rates">): boolean {
  return maxUses !== undefined || (rates?.length ?? 0) > 0;
}

/** The last value written to each key as JSON, null for a deletion, and the keys that the snapshot had a value for. */
export function lastWrites(writes: StateWrites["writes"]) {
  const json = (value: (typeof writes)[number]["value"]) =>
    value === undefined ? null : JSON.stringify(value);
  return {
    last: [...new Map(writes.map(({ key, value }) => [key, json(value)]))],
    existed: writes.filter((write) => write.existed).map(({ key }) => key),
  };
}
