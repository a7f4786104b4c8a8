import {
  DEFAULT_OPERATION,
  type DomainManifestTool,
  type DomainPolicies,
  type DomainTool,
  defined,
  type JsonObject,
  type JsonSchema,
  type ManifestDraft,
  type ToolManifest,
} from "@sallyport/protocol";

const ANY_INPUT: JsonSchema = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  type: "object",
};

const DEFAULT_HEALTH = "/healthz";

interface Around {
  domain: { id: string; version: string; semver: string };
  policies: DomainPolicies;
  schemas: { input: JsonSchema | undefined; output: JsonSchema | undefined };
}

/** An entry of a domain's manifest as the one form the engine knows; what that has no field for is in `source.metadata`. */
export function toolManifestOf(
  tool: DomainManifestTool,
  { domain, policies, schemas }: Around,
): ManifestDraft {
  const { tool_id: id, display_name: name = id, description = name } = tool;
  const timeoutSec = tool.timeout_sec ?? policies.defaultTimeoutSec;
  const anywhere = policies.defaultEgress === "allow" ? ["*"] : [];
  return {
    id,
    version: domain.semver,
    name,
    description,
    category: "external_api",
    kind: tool.kind,
    ...(tool.kind === "service_worker" && {
      transport: {
        type: tool.transport.type,
        baseUrl: tool.transport.base_url,
        endpoint: tool.transport.endpoint ?? "/run",
      },
    }),
    egressAllowlist: tool.egress_allowlist ?? anywhere,
    limits: { timeoutMs: timeoutSec * 1_000 },
    operations: {
      [DEFAULT_OPERATION]: {
        description,
        inputSchema: schemas.input ?? ANY_INPUT,
        ...defined({ outputSchema: schemas.output }),
      },
    },
    ...defined({
      sideEffects: tool.side_effects,
      idempotent: tool.idempotent,
      requiresApproval: tool.requires_approval,
      risk: tool.risk,
      tags: tool.tags,
    }),
    source: { type: "native", metadata: metadataOf(tool, domain) },
  };
}

function metadataOf(tool: DomainManifestTool, domain: Around["domain"]): JsonObject {
  const own =
    tool.kind === "service_worker"
      ? { health: tool.transport.health ?? DEFAULT_HEALTH }
      : { command: tool.command, env: tool.env ?? {} };
  return {
    domain_id: domain.id,
    domain_version: domain.version,
    capabilities: tool.capabilities ?? [],
    ...defined({ input_schema_ref: tool.input_schema_ref, output_schema_ref: tool.output_schema_ref }),
    ...own,
  };
}

/** A tool as the catalogue of a gateway shows it (AX-CAT-1), without its health. */
export function catalogueEntryOf({
  id,
  name,
  description,
  kind,
  transport,
  limits,
  egressAllowlist = [],
  source: { metadata },
}: ToolManifest): DomainTool {
  const { capabilities, input_schema_ref: input, output_schema_ref: output } = metadata ?? {};
  return {
    tool_id: id,
    kind: kind === "job_worker" ? kind : "service_worker",
    display_name: name,
    description,
    capabilities: Array.isArray(capabilities) ? capabilities.map(String) : [],
    timeout_sec: Math.ceil(limits.timeoutMs / 1_000),
    egress_allowlist: egressAllowlist,
    ...(transport && {
      transport_type: transport.type,
      ...defined({ transport_endpoint: transport.endpoint }),
    }),
    ...(typeof input === "string" && { input_schema_ref: input }),
    ...(typeof output === "string" && { output_schema_ref: output }),
  };
}

/** The worker of a tool, by its address in one spelling; undefined for one that is started for each run. */
export function probedWorker({
  transport,
  source: { metadata },
}: ToolManifest): { baseUrl: string; healthPath: string } | undefined {
  if (transport?.baseUrl === undefined) return undefined;
  const path = metadata?.health;
  return {
    baseUrl: new URL(transport.baseUrl).href.replace(/\/+$/, ""),
    healthPath: typeof path === "string" ? path : DEFAULT_HEALTH,
  };
}
