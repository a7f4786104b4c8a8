import type { IsolationLevel } from "@sallyport/protocol";
import { matchesAny } from "../match/patterns.ts";
import type { Implementation } from "../ports/runner.ts";
import type { EgressCredential, Sandbox } from "../ports/sandbox.ts";
import type { Workspaces } from "../ports/workspace.ts";

/** A credential that a tool may name in its manifest: where it is good, and how the proxy adds it there. */
export interface HostCredential extends EgressCredential {
  host: string;
  port?: number;
}

/** How this house isolates tools that run in processes, and where files are changed. */
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
  /** By the name a manifest uses. */
  credentials: Readonly<Record<string, HostCredential>>;
  /** Hosts that may lead to loopback or private addresses. */
  privateHosts: readonly string[];
  /** Largest folder that is copied where the kernel offers no copy-on-write view. */
  maxCopyBytes: number;
}

/** The isolation a tool in a process of its own has to have; undefined for one that runs in this process. */
export function demandedLevel(
  tool: string,
  implementation: Implementation | undefined,
  rules: Pick<IsolationRules, "weaker"> | undefined,
): IsolationLevel | undefined {
  if (implementation?.kind !== "process" && implementation?.kind !== "script") return undefined;
  return rules?.weaker.find(({ tools }) => matchesAny(tools, tool))?.level ?? "LEVEL_2";
}
