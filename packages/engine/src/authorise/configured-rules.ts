import { hash } from "node:crypto";
import { type Caller, canonicalJson, type JsonValue } from "@sallyport/protocol";
import { LruMap } from "../lru-map.ts";
import { compilePatterns } from "../match/patterns.ts";
import type { AgentBounds } from "../ports/sandbox.ts";
import { type AgentProfile, boundsOf } from "./agent-profile.ts";

/** A permission from the configuration: who may call what, and with which capabilities. */
export interface ConfiguredGrant {
  id: string;
  /** Names or patterns with `*`; all of them must be matched by a call. */
  tenants: string[];
  agents: string[];
  tools: string[];
  operations: string[];
  /** Capabilities it gives, by exact name: a parent gives none of its children. */
  capabilities: string[];
}

/** Tenants, agents of each, and tools of each agent that are remembered: a request can name any number of them. */
const MAX_NAMES = 100;

/** A configured grant whose patterns are compiled. */
interface CompiledGrant {
  grant: ConfiguredGrant;
  isFor(caller: Caller): boolean;
  coversTool(tool: string): boolean;
  coversOperation(operation: string): boolean;
}

/** What the configuration says about one agent of one tenant. */
export class CallerRules {
  /** The first profile that fits the agent. */
  readonly profile: AgentProfile | undefined;
  /** The bounds of its tools. */
  readonly bounds: AgentBounds | undefined;
  readonly #grants: readonly CompiledGrant[];
  readonly #byTool = new LruMap<string, CompiledGrant[]>(MAX_NAMES);

  constructor(agent: string, profile: AgentProfile | undefined, grants: readonly CompiledGrant[]) {
    this.profile = profile;
    this.bounds = boundsOf(agent, profile);
    this.#grants = grants;
  }

  /** Whether a grant is for this caller; with a tool, whether one is for this tool too. */
  isGranted(tool?: string): boolean {
    return (tool === undefined ? this.#grants : this.#reaching(tool)).length > 0;
  }

  /** The grants that cover a call. */
  covering({ tool, operation }: { tool: string; operation: string }): ConfiguredGrant[] {
    const reaching = this.#reaching(tool);
    return reaching.filter(({ coversOperation }) => coversOperation(operation)).map(({ grant }) => grant);
  }

  #reaching(tool: string): CompiledGrant[] {
    return this.#byTool.getOrAdd(tool, () => this.#grants.filter(({ coversTool }) => coversTool(tool)));
  }
}

/** The configured grants and agent profiles, compiled; the rules of a caller are put together once. */
export class ConfiguredRules {
  /** Changes when the grants or the profiles do. */
  readonly version: string;
  readonly #grants: CompiledGrant[];
  readonly #profiles: { profile: AgentProfile; isFor(caller: Caller): boolean }[];
  readonly #tenants = new LruMap<string, LruMap<string, CallerRules>>(MAX_NAMES);

  constructor(grants: readonly ConfiguredGrant[], agents: readonly AgentProfile[]) {
    const plain: JsonValue = JSON.parse(JSON.stringify({ agents, grants }));
    this.version = hash("sha256", canonicalJson(plain)).slice(0, 16);
    this.#profiles = agents.map((profile) => ({ profile, isFor: callersOf(profile) }));
    this.#grants = grants.map((grant) => ({
      grant,
      isFor: callersOf(grant),
      coversTool: compilePatterns(grant.tools),
      coversOperation: compilePatterns(grant.operations),
    }));
  }

  of(caller: Caller): CallerRules {
    const agents = this.#tenants.getOrAdd(caller.tenant, () => new LruMap(MAX_NAMES));
    return agents.getOrAdd(caller.agent, (agent) => {
      const profile = this.#profiles.find(({ isFor }) => isFor(caller))?.profile;
      const grants = this.#grants.filter(({ isFor }) => isFor(caller));
      return new CallerRules(agent, profile, grants);
    });
  }
}

function callersOf({ agents, tenants }: Pick<ConfiguredGrant, "agents" | "tenants">) {
  const isAgent = compilePatterns(agents);
  const isTenant = compilePatterns(tenants);
  return ({ agent, tenant }: Caller) => isAgent(agent) && isTenant(tenant);
}
