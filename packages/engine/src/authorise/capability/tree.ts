import { type Failure, failure, type Issue, type Risk } from "@sallyport/protocol";
import { builtinCapabilities, type Capability, type CapabilityMetadata } from "./builtin-capabilities.ts";

/** A capability of one's own, as the configuration gives it. */
export interface CapabilityDraft extends Partial<Omit<Capability, "id" | "metadata">> {
  id: string;
  metadata?: Partial<CapabilityMetadata>;
}

const ID = /^[a-z][a-z0-9-]*(?:\.[a-z][a-z0-9-]*)*$/;
const MAX_ID_CHARS = 128;

/** The capabilities there are. Names are matched exactly: a parent gives none of its children. */
export class CapabilityTree {
  readonly #capabilities: ReadonlyMap<string, Capability>;

  constructor(capabilities: Iterable<Capability> = builtinCapabilities()) {
    this.#capabilities = new Map([...capabilities].map((capability) => [capability.id, capability]));
  }

  get(id: string): Capability | undefined {
    return this.#capabilities.get(id);
  }

  /** In the order they were given, the built-in ones first. */
  all(): Capability[] {
    return [...this.#capabilities.values()];
  }

  /** Undefined for a capability that is unknown or not rated. */
  riskOf(id: string): Risk | undefined {
    return this.#capabilities.get(id)?.risk;
  }

  /** Everything a holder of it must hold besides, what that requires included. */
  requirementsOf(id: string): string[] {
    const found = new Set<string>();
    const visit = (of: string) => {
      for (const required of this.get(of)?.requires ?? []) {
        if (found.has(required)) continue;
        found.add(required);
        visit(required);
      }
    };
    visit(id);
    return [...found];
  }

  /** Whether nobody may hold both, whichever of the two says so. */
  conflict(one: string, other: string): boolean {
    const says = (a: string, b: string) => this.get(a)?.conflicts.includes(b) === true;
    return says(one, other) || says(other, one);
  }

  /** This tree and the given capabilities; refused as a whole with E3220 and every mistake. This one stays as it is. */
  extend(drafts: readonly CapabilityDraft[]): CapabilityTree | Failure {
    const added = drafts.map(completed);
    const extended = new CapabilityTree([...this.all(), ...added]);
    const issues = added.flatMap((capability, index) => [
      ...duplicate(added, { index, isKnown: this.#capabilities.has(capability.id) }),
      ...misfits(capability, { tree: extended, path: `/${index}` }),
    ]);
    if (issues.length === 0) return extended;
    return failure("E3220", { message: "The capabilities of the configuration cannot be used.", issues });
  }
}

function completed(draft: CapabilityDraft): Capability {
  const { id, parent, risk, metadata } = draft;
  return {
    id,
    name: draft.name ?? id,
    description: draft.description ?? "",
    ...(parent !== undefined && { parent }),
    ...(risk && { risk }),
    requires: [...(draft.requires ?? [])],
    conflicts: [...(draft.conflicts ?? [])],
    delegatable: draft.delegatable ?? false,
    metadata: { version: "1.0.0", createdAt: 0, modifiedAt: 0, deprecated: false, ...metadata },
  };
}

function duplicate(added: Capability[], at: { index: number; isKnown: boolean }): Issue[] {
  const id = added[at.index]?.id;
  const isFirst = added.findIndex((other) => other.id === id) === at.index;
  if (isFirst && !at.isKnown) return [];
  return [{ path: `/${at.index}/id`, reason: `${id} is there already` }];
}

function misfits({ id, parent, requires, conflicts, metadata }: Capability, { tree, path }: Place): Issue[] {
  const issues: Issue[] = [];
  const say = (below: string, reason: string) => void issues.push({ path: path + below, reason });
  if (!ID.test(id) || id.length > MAX_ID_CHARS) say("/id", "is not a dotted lower-case name");
  if (parent !== undefined && !tree.get(parent)) say("/parent", `there is no capability ${parent}`);
  else if (isOwnAncestor(tree, id)) say("/parent", "leads back to itself");
  for (const [field, named] of Object.entries({ requires, conflicts })) {
    for (const other of named.filter((name) => !tree.get(name)))
      say(`/${field}`, `there is no capability ${other}`);
  }
  if (tree.requirementsOf(id).includes(id)) say("/requires", "leads back to itself");
  const impossible = tree.requirementsOf(id).find((required) => tree.conflict(id, required));
  if (impossible !== undefined) say("/conflicts", `conflicts with ${impossible}, which it requires`);
  if (metadata.replacedBy !== undefined && !tree.get(metadata.replacedBy))
    say("/metadata/replacedBy", `there is no capability ${metadata.replacedBy}`);
  return issues;
}

interface Place {
  tree: CapabilityTree;
  path: string;
}

function isOwnAncestor(tree: CapabilityTree, id: string): boolean {
  const seen = new Set<string>();
  let at = tree.get(id)?.parent;
  while (at !== undefined && at !== id && !seen.has(at)) {
    seen.add(at);
    at = tree.get(at)?.parent;
  }
  return at === id;
}
