import { resolve } from "node:path";
import { createAbacPolicy } from "@sallyport/adapters/abac";
import { createOpaPolicy } from "@sallyport/adapters/opa";
import {
  type AgentProfile,
  type ApprovalRules,
  CapabilityTree,
  ConfiguredAuthority,
  type ConfiguredGrant,
  cachedPolicy,
  GrantIndex,
  type GrantSigner,
  hmacSigner,
  TokenChecker,
} from "@sallyport/engine";
import type { Bus, ErrorHandler, Policy } from "@sallyport/engine/ports";
import { defined, type Failure, failure, SallyportError } from "@sallyport/protocol";
import type { LoadedConfig } from "../config/load.ts";
import {
  configuredKeyFiles,
  configuredKeys,
  ensureGrantsKey,
  freshKeys,
  keyFolder,
  tokenRulesOf,
} from "../keys/index.ts";
import { must } from "../must.ts";
import { policyFilesOf, presetOf } from "../policy/in-force.ts";
import { openPolicyFiles, type PolicyFiles } from "../policy/policy-files.ts";

/** Everything that decides who may do what, wired from the configuration. */
export interface OpenAuthority {
  authority: ConfiguredAuthority;
  grantIndex: GrantIndex;
  signer: GrantSigner;
  capabilities: CapabilityTree;
  /** The rules files, which can be read again; undefined when there are none. */
  rules: PolicyFiles | undefined;
  /** Checks tokens; undefined where none could ever be checked. */
  tokens: TokenChecker | undefined;
  /** Ends what its policies listen to. */
  drop(): void;
}

/** Reads keys and rules and puts them together. Throws E3227 or E3223 when one of them cannot be used. */
export function openAuthority(
  config: LoadedConfig,
  {
    bus,
    errors,
    grants = [],
    policies = [],
    project = config.folder,
  }: {
    bus: Bus;
    errors?: ErrorHandler | undefined;
    grants?: readonly ConfiguredGrant[] | undefined;
    policies?: readonly Policy[] | undefined;
    /** The folder that standing grants may be bound to. */
    project?: string | undefined;
  },
): OpenAuthority {
  const signer = hmacSigner(must(ensureGrantsKey(keyFolder(config.stateFolder))));
  const grantIndex = new GrantIndex(signer);
  const rules = mustIfAny(openPolicyFiles(policyFilesOf(config), { bus }));
  const tokens = tokensOf(config);
  const { policies: configured, drop } = policiesOf(config, { rules, bus });
  const authority = new ConfiguredAuthority({
    grants: [...config.grants, ...grants],
    agents: config.agents.map((agent) => profileOf(agent, resolve(config.folder, config.workspace))),
    policies: [...configured, ...policies],
    grantIndex,
    project,
    onProblem: (policy, error) => errors?.report({ error, code: "E3206", stage: `policy ${policy}` }),
    ...(tokens && { tokens: { checker: tokens, required: config.tokens.required } }),
  });
  return { authority, grantIndex, signer, capabilities: must(capabilitiesOf(config)), rules, tokens, drop };
}

function policiesOf(
  config: LoadedConfig,
  { rules, bus }: { rules: PolicyFiles | undefined; bus: Bus },
): { policies: Policy[]; drop(): void } {
  const { opa, abac, cacheSeconds } = config.policy;
  const preset = presetOf(config);
  const slow = [...(opa ? [createOpaPolicy(opa)] : []), ...(abac ? [createAbacPolicy(abac)] : [])];
  const cached =
    cacheSeconds === 0
      ? []
      : slow.map((policy) => cachedPolicy(policy, { ttlMs: cacheSeconds * 1_000, bus }));
  return {
    policies: [
      ...(rules ? [rules] : []),
      ...(preset ? [preset] : []),
      ...(cacheSeconds === 0 ? slow : cached),
    ],
    drop: () => {
      for (const policy of cached) policy.close();
    },
  };
}

/** Undefined where no token could ever be checked and none is required. */
function tokensOf(config: LoadedConfig): TokenChecker | undefined {
  const keys = configuredKeys(config);
  if (keys) {
    must(keys);
    const noKeys = () => failure("E3227", { message: "There is no key to check tokens with any more." });
    const inForce = freshKeys(() => configuredKeys(config) ?? noKeys(), configuredKeyFiles(config));
    return new TokenChecker({ ...tokenRulesOf(config), keys: inForce });
  }
  if (!config.tokens.required) return undefined;
  const message = "Tokens are required and there is no key to check them with.";
  const advice =
    "Make keys with `sallyport keys init`, or name the issuer's with tokens.jwks or tokens.publicKeys.";
  throw new SallyportError(failure("E3227", { message, advice }));
}

/** Paths of an agent start where those of its tools do. */
function profileOf(
  { permissions, limits, ...rest }: LoadedConfig["agents"][number],
  root: string,
): AgentProfile {
  const profile = { ...rest, ...(limits && { limits: defined(limits) }) };
  if (!permissions) return profile;
  const network = permissions.network.map(({ host, port }) => ({
    host,
    ...(port !== undefined && { port }),
  }));
  const filesystem = permissions.filesystem.map(({ path, mode }) => ({ path: resolve(root, path), mode }));
  return { ...profile, permissions: { ...permissions, filesystem, network } };
}

/** The built-in capabilities and the configured ones; E3220 when one of those cannot be. */
export function capabilitiesOf(config: LoadedConfig): CapabilityTree | Failure {
  const tree = new CapabilityTree();
  if (config.capabilities.length === 0) return tree;
  return tree.extend(
    config.capabilities.map(({ risk, ...rest }) => ({ ...rest, name: rest.id, ...(risk && { risk }) })),
  );
}

/** How people are asked, in the engine's words. */
export function approvalRulesOf({ approvals }: LoadedConfig): Partial<ApprovalRules> {
  const levels = approvals.levels.map(({ approvers, timeoutHours, channels }, index) => ({
    level: index + 1,
    approvers,
    timeoutMs: Math.round(timeoutHours * 3_600_000),
    channels,
  }));
  return { quorum: approvals.quorum, levels };
}

function mustIfAny<Value extends object>(value: Value | Failure | undefined): Value | undefined {
  return value && must(value);
}
