import type { Readable, Writable } from "node:stream";
import type { Enforcement, Isolation, IsolationLevel, LimitName, Violation } from "@sallyport/protocol";
import type { Workspaces, WorkspaceView } from "./workspace.ts";

/**
 * A part of the host's file system that the process sees, at the same or another path. Never writable: what a process
 * may change is its workspace, which is staged, measured, and cannot leave a program behind that runs as its owner.
 */
export interface SandboxMount {
  /** Absolute path on the host; it must exist. */
  source: string;
  /** Absolute path inside. */
  target: string;
  mode: "ro";
  /** A socket or fifo that the operator gives by name: whoever is at its other end is outside of the sandbox. */
  socket?: true;
}

/** A host the process may reach through the egress proxy. */
export interface EgressRule {
  /** `api.example.com`, `*.example.com` or an address. */
  host: string;
  /** Left out: any port. */
  port?: number;
  /** Allows this one to lead to loopback or private addresses. Off unless the operator says so. */
  allowPrivate?: boolean;
  /** What the proxy adds to requests for this host; the process never sees it. */
  credential?: EgressCredential;
}

export interface EgressCredential {
  /** The secret's name in the broker. */
  secret: string;
  /** How it is added: as a whole header, with `{secret}` where the secret goes, or as basic authentication. */
  as: { header: string; value: string } | { basic: { user: string } };
  /** Needed for https: the proxy ends TLS with a certificate that only this sandbox trusts. */
  intercept?: boolean;
  /** The operator's word that it may go over plain HTTP too, to private addresses that the rule allows (D-16). */
  plainHttp?: boolean;
  /** The operator's word that parts of answers may be asked for (Range), in which a secret cannot be found. */
  ranges?: boolean;
}

/** What a run may use at most. */
export interface SandboxLimits {
  wallMs: number;
  memoryBytes: number;
  /** Processor time of the whole tree. */
  cpuMs?: number;
  /** Share of processors, in thousandths of one. */
  cpuMillicores?: number;
  processes: number;
  openFiles: number;
  /** Size of one file. */
  fileBytes: number;
  /** All that is written: the workspace's changes, and for itself the private /tmp. */
  diskBytes: number;
  /** stdout and stderr together. */
  outputBytes: number;
  /** Connections through the proxy at once. */
  connections: number;
}

/** The outer sandbox (BC-1): a tool can have nothing that its agent has not. */
export interface AgentBounds {
  agent: string;
  limits: Partial<SandboxLimits>;
  /** Left out: the agent's mounts are not limited. */
  filesystem?: { path: string; mode: "ro" | "rw" }[];
  network?: { host: string; port?: number }[];
}

/** Everything about one process that is to run isolated. Pure data: the same order gives the same sandbox. */
export interface SandboxOrder {
  /** The execution's id. */
  id: string;
  /** At least this much isolation; an unavailable level is refused (E3101), never weakened. */
  level: IsolationLevel;
  /** Program and arguments as they are seen inside. */
  argv: readonly string[];
  /** The whole environment; nothing is inherited. */
  env: Readonly<Record<string, string>>;
  /** Inside. */
  cwd: string;
  mounts: readonly SandboxMount[];
  /** Copy-on-write view of a folder, seen inside at its own path. */
  workspace?: WorkspaceView;
  /** Host paths that must not be seen, also where a mount would show them. */
  hidden: readonly string[];
  /** Empty: no network at all. */
  egress: readonly EgressRule[];
  limits: SandboxLimits;
  /** More output than `limits.outputBytes` does not end the run: it is read slowly, and whoever reads cuts it. */
  isOutputCut?: boolean;
  bounds?: AgentBounds;
}

export type SandboxEnding =
  | { kind: "exited"; code: number }
  | { kind: "signalled"; signal: string }
  | { kind: "timeout" }
  | { kind: "limit"; limit: LimitName; message: string }
  | { kind: "violation"; message: string }
  | { kind: "killed" }
  /** The sandbox itself could not be made or broke; the program may not have run at all. `notMade`: it has not. */
  | { kind: "crashed"; message: string; notMade?: true };

export interface SandboxUsage {
  cpuMs: number;
  memoryPeakBytes: number;
  networkBytesSent: number;
  networkBytesReceived: number;
}

export interface SandboxEnd {
  ending: SandboxEnding;
  usage: SandboxUsage;
  /** Which mechanism held each limit. */
  enforcement: Enforcement;
  violations: Violation[];
}

/** A process that runs isolated. */
export interface SandboxProcess {
  /** What is really in force. */
  readonly isolation: Isolation;
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** Resolves once the whole tree is gone and everything is cleaned up; never rejects. */
  readonly ended: Promise<SandboxEnd>;
  /** Ends the whole tree at once. Safe to repeat. */
  kill(): void;
}

/** What this host offers, found out by running real sandboxes. */
export interface SandboxOffer {
  backend: string;
  level: IsolationLevel;
  available: boolean;
  /** What is missing, in words; empty when available. */
  missing: string[];
  /** Exact commands or settings that help, in order. */
  fix: string[];
  /** Such as versions, what enforces which limit, whether copy-on-write views work. */
  facts: Record<string, string>;
  /** True when what is missing may come back by itself, such as room on a full disk. */
  transient?: true;
}

/** Makes sandboxes. */
export interface Sandbox {
  /** What would be in force for an order of that level; throws SallyportError E3101 when it is not available. */
  isolationFor(level: IsolationLevel): Promise<Isolation>;
  /** Rejects with SallyportError: E3101 when the level is not available, E3102/E3104/E3105 when beyond its bounds. */
  start(order: SandboxOrder): Promise<SandboxProcess>;
  /** One per backend, strongest first. */
  offers(): Promise<SandboxOffer[]>;
  /** Ends every process it started. */
  close(): Promise<void>;
}

/** A credential that a tool may name in its manifest: where it is good, and how the proxy adds it there. */
export interface HostCredential extends EgressCredential {
  host: string;
  port?: number;
}

/** How this engine isolates tools that run in processes, and where files are changed. */
export interface IsolationRules {
  sandbox: Sandbox;
  workspaces: Workspaces;
  /** Absolute: what relative paths of a tool's permissions start from. */
  root: string;
  /** Host paths no process sees: the state folder, the configuration, keys. */
  hidden: readonly string[];
  /** Relative paths and patterns nobody changes in a workspace. */
  denied: readonly string[];
  /** Tools that may run weaker than LEVEL_2: an explicit choice of the operator. */
  weaker: readonly { tools: readonly string[]; level: IsolationLevel }[];
  /** Sockets and fifos of the host that tools reach: an explicit choice of the operator. */
  sockets?: readonly { tools: readonly string[]; paths: readonly string[] }[];
  /** By the name a manifest uses. */
  credentials: Readonly<Record<string, HostCredential>>;
  /** Hosts that may lead to loopback or private addresses. */
  privateHosts: readonly string[];
  /** Largest folder that is copied where the kernel offers no copy-on-write view. */
  maxCopyBytes: number;
}
