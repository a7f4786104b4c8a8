import type { Risk } from "@sallyport/protocol";

/** What a capability is known by. A name not in the tree is no capability. */
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

export interface CapabilityMetadata {
  version: string;
  createdAt: number;
  modifiedAt: number;
  /** Existing grants go on; no new one is given. */
  deprecated: boolean;
  replacedBy?: string;
}

interface Line {
  says: string;
  risk?: Risk;
  requires?: string[];
}

const READ = "filesystem.read";

/** The capabilities of RFC-0003, with the risks and prerequisites it states. */
const LINES: Record<string, Line> = {
  root: { says: "the top of the tree; gives nothing by itself" },
  filesystem: { says: "files" },
  [READ]: { says: "read files", risk: "medium" },
  "filesystem.write": { says: "create and change files", risk: "high", requires: [READ] },
  "filesystem.delete": { says: "delete files", risk: "high", requires: [READ] },
  "filesystem.execute": { says: "run files as programs", risk: "critical", requires: [READ] },
  network: { says: "the network" },
  "network.http": { says: "requests over HTTP", risk: "medium" },
  "network.https": { says: "requests over HTTPS", risk: "medium" },
  "network.tcp": { says: "TCP connections", risk: "high" },
  "network.udp": { says: "UDP datagrams", risk: "high" },
  process: { says: "other processes" },
  "process.spawn": { says: "start processes", risk: "critical", requires: ["filesystem.execute"] },
  "process.kill": { says: "end processes", risk: "high" },
  "process.signal": { says: "signal processes", risk: "medium" },
  system: { says: "the host" },
  "system.env": { says: "read the environment" },
  "system.time": { says: "read the clock" },
  "system.info": { says: "read facts about the host" },
  state: { says: "the tool's transactional state" },
  "state.read": { says: "read state" },
  "state.write": { says: "write state" },
  "state.delete": { says: "delete state" },
  admin: { says: "the house itself" },
  "admin.capability.grant": { says: "give grants" },
  "admin.capability.revoke": { says: "revoke grants" },
  "admin.tool.install": { says: "install tools" },
};

const CREATED_AT = Date.UTC(2026, 0, 1);

/** Fresh objects for each tree, so that no tree can change another's. */
export function builtinCapabilities(): Capability[] {
  return Object.entries(LINES).map(([id, { says, risk, requires = [] }]) => {
    const [group = id] = id.split(".");
    const parent = id === group ? "root" : group;
    return {
      id,
      name: id.replaceAll(".", " "),
      description: says,
      ...(id !== "root" && { parent }),
      ...(risk && { risk }),
      requires: [...requires],
      conflicts: [],
      delegatable: group !== "admin" && id !== "root",
      metadata: { version: "1.0.0", createdAt: CREATED_AT, modifiedAt: CREATED_AT, deprecated: false },
    };
  });
}
