import type { EgressRule, SecretSource } from "@sallyport/engine/ports";
import type { JsonObject } from "@sallyport/protocol";
import type { HostUser } from "./launcher/index.ts";

export const BACKENDS = ["bubblewrap", "oci", "process"] as const;
export type BackendName = (typeof BACKENDS)[number];

export interface SandboxOptions {
  /** Where sockets, bundles and the like of running sandboxes are kept; made with 0700 when it is not there. */
  runtimeFolder: string;
  /** Which may be used, strongest first. Left out: all that this platform has. */
  backends?: readonly BackendName[];
  /** crun, runc or runsc, by name or absolute path. Left out: the first of crun and runc that is there. */
  ociRuntime?: string;
  /** For a host process that is root: who its sandboxes run as. */
  user?: HostUser;
  /** Host paths that no sandbox may see, such as the state folder and the configuration. */
  hidden?: readonly string[];
  /** Opens the way to the network for one sandbox; without it an order with egress is refused. */
  openEgress?: OpenEgress;
  /** Where the egress proxy gets the credentials it adds. */
  secrets?: SecretSource;
  /** How many refused system calls end a sandbox; the first one that is critical always does. */
  violationsMax?: number;
  /** `off`: rlimits and measuring only, even where cgroups could be had. */
  cgroups?: "auto" | "off";
  /** Told of each step of each sandbox's life; must not throw. */
  onEvent?: (event: SandboxEvent) => void;
}

/** RFC-0002's audit events, as far as a sandbox itself can see them. */
export interface SandboxEvent {
  event:
    | "SANDBOX_CREATED"
    | "SANDBOX_EXITED"
    | "SANDBOX_DESTROYED"
    | "POLICY_VIOLATION"
    | "ESCAPE_ATTEMPT"
    | "RESOURCE_LIMIT_EXCEEDED"
    | "SYSCALL_BLOCKED";
  /** The order's id. */
  id: string;
  details: JsonObject;
}

/** What `openEgress` of the egress folder does, as far as a sandbox needs it. */
export type OpenEgress = (options: {
  socketPath: string;
  rules: readonly EgressRule[];
  secrets?: SecretSource;
  connections: number;
}) => Promise<OpenedEgress>;

export interface OpenedEgress {
  usage(): { sent: number; received: number };
  refusals(): { host: string; port: number; why: string; times: number; code?: string }[];
  readonly caCertificate?: string;
  close(): Promise<void>;
}

/** `nobody`: owns nothing on a well-kept host. */
export const DEFAULT_USER: HostUser = { uid: 65_534, gid: 65_534 };
