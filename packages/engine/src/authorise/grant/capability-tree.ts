import { type Failure, failure, type Issue, type Risk } from "@sallyport/protocol";

/** What a capability is known by. A name that is not in the tree is no capability. */
export interface Capability {
  id: string;
  name: string;
  description: string;
  /** Only for order and display: holding a parent gives none of its children. */
  parent?: string;
  /** Left out: not rated. */
  risk?: Risk;
  /** What its holder must hold besides. */
  requires: string[];
  /** What its holder must not hold besides. */
  conflicts: string[];
  /** Whether a grant of it may ever be passed on. */
  delegatable: boolean;
  metadata: CapabilityMetadata;
}

interface CapabilityMetadata {
  version: string;
  createdAt: number;
  modifiedAt: number;
  /** Existing grants go on; no new one is given. */
  deprecated: boolean;
  replacedBy?: string;
}

/** A capability of one's own, as the configuration gives it. */
export interface CapabilityDraft extends Partial<Omit<Capability, "id" | "metadata">> {
  id: string;
  metadata?: Partial<CapabilityMetadata>;
}

const READ = "filesystem.read";
const CREATED_AT = Date.UTC(2026, 0, 1);

/** The capabilities of RFC-0003, with the risks and prerequisites it states. */
const BUILTIN: Readonly<Record<string, { description: string; risk?: Risk; requires?: string[] }>> = {
  root: { description: "the top of the tree; gives nothing by itself" },
  filesystem: { description: "files" },
  [READ]: { description: "read files", risk: "medium" },
  "filesystem.write": { description: "create and change files", risk: "high", requires: [READ] },
  "filesystem.delete": { description: "delete files", risk: "high", requires: [READ] },
  "filesystem.execute": { description: "run files as programs", risk: "critical", requires: [READ] },
  network: { description: "the network" },
  "network.http": { description: "requests over HTTP", risk: "medium" },
  "network.https": { description: "requests over HTTPS", risk: "medium" },
  "network.tcp": { description: "TCP connections", risk: "high" },
  "network.udp": { description: "UDP datagrams", risk: "high" },
  process: { description: "other processes" },
  "process.spawn": { description: "start processes", risk: "critical", requires: ["filesystem.execute"] },
  "process.kill": { description: "end processes", risk: "high" },
  "process.signal": { description: "signal processes", risk: "medium" },
  system: { description: "the host" },
  "system.env": { description: "read the environment" },
  "system.time": { description: "read the clock" },
  "system.info": { description: "read facts about the host" },
  state: { description: "the tool's transactional state" },
  "state.read": { description: "read state" },
  "state.write": { description: "write state" },
  "state.delete": { description: "delete state" },
  admin: { description: "Sallyport itself" },
  "admin.capability.grant": { description: "give grants" },
  "admin.capability.revoke": { description: "revoke grants" },
  "admin.tool.install": { description: "install tools" },
};

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

  /** Everything a holder of it must hold besides, with what that requires. */
  requirementsOf(id: string): string[] {
    const found = new Set(this.get(id)?.requires);
    for (const required of found) for (const next of this.get(required)?.requires ?? []) found.add(next);
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
    const issues = added.flatMap((capability, index) => {
      const isFirst = added.findIndex(({ id }) => id === capability.id) === index;
      const isTaken = !isFirst || this.#capabilities.has(capability.id);
      const taken = { path: `/${index}/id`, reason: `${capability.id} is there already` };
      return [...(isTaken ? [taken] : []), ...issuesOf(capability, extended, `/${index}`)];
    });
    if (issues.length === 0) return extended;
    return failure("E3220", {
      message: "The capabilities of the configuration cannot be used.",
      advice: "Correct each capability named in the issues, under `capabilities` of the configuration.",
      issues,
    });
  }
}

/** Fresh objects for each tree, so that no tree can change another's. */
function builtinCapabilities(): Capability[] {
  return Object.entries(BUILTIN).map(([id, given]) => {
    const [group = id] = id.split(".");
    return completed({
      ...given,
      id,
      name: id.replaceAll(".", " "),
      ...(id !== "root" && { parent: id === group ? "root" : group }),
      delegatable: group !== "admin" && id !== "root",
      metadata: { createdAt: CREATED_AT, modifiedAt: CREATED_AT },
    });
  });
}

function completed({ requires = [], conflicts = [], metadata, ...said }: CapabilityDraft): Capability {
  return {
    name: said.id,
    description: "",
    delegatable: false,
    ...said,
    requires: [...requires],
    conflicts: [...conflicts],
    metadata: { version: "1.0.0", createdAt: 0, modifiedAt: 0, deprecated: false, ...metadata },
  };
}

function issuesOf(capability: Capability, tree: CapabilityTree, path: string): Issue[] {
  const { id, parent, requires, conflicts, metadata } = capability;
  const issues: Issue[] = [];
  const note = (below: string, reason: string) => void issues.push({ path: path + below, reason });
  const noteUnknown = (below: string, names: readonly string[]) => {
    for (const name of names) if (!tree.get(name)) note(below, `there is no capability ${name}`);
  };
  if (!ID.test(id) || id.length > MAX_ID_CHARS)
    note("/id", `"${id}" is not a dotted lower-case name (letters, digits, "-")`);
  noteUnknown("/parent", parent === undefined ? [] : [parent]);
  if (isOwnAncestor(tree, id)) note("/parent", "leads back to itself");
  noteUnknown("/requires", requires);
  noteUnknown("/conflicts", conflicts);
  const required = tree.requirementsOf(id);
  if (required.includes(id)) note("/requires", "leads back to itself");
  const impossible = required.find((other) => tree.conflict(id, other));
  if (impossible !== undefined) note("/conflicts", `conflicts with ${impossible}, which it requires`);
  noteUnknown("/metadata/replacedBy", metadata.replacedBy === undefined ? [] : [metadata.replacedBy]);
  return issues;
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
