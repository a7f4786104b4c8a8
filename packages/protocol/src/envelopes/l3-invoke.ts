import type { CallOrder } from "../call-order.ts";
import { defined } from "../defined.ts";
import type { ResourceLimits } from "../manifest.ts";
import type { Caller } from "../outcome.ts";
import { megabytes, seconds } from "../units.ts";
import { type Decoded, decode } from "./field-reader.ts";
import type {
  AgentContext,
  ExecutionOptions,
  InvokeResourceLimits,
  ToolInvokeRequest,
} from "./l3-messages.ts";
import { toolInvokeRequestField } from "./l3-request-fields.ts";

export * from "./l3-messages.ts";
export * from "./l3-request-fields.ts";
export * from "./l3-response.ts";
export * from "./l3-response-fields.ts";

/** Reads a request; what is wrong with it comes back as an E3903 that names every wrong field. */
export function decodeInvokeRequest(value: unknown): Decoded<ToolInvokeRequest> {
  return decode(value, toolInvokeRequestField);
}

/** The order a request stands for. Nothing in it is trusted yet: the door checks who the agent really is. */
export function callFromInvoke(request: ToolInvokeRequest): CallOrder {
  const { execution_options, resource_limits } = request;
  return {
    tool: request.tool_id,
    ...defined({ version: request.tool_version, operation: request.operation }),
    input: request.parameters,
    caller: callerFrom(request.agent_context),
    ...defined({ callId: request.invocation_id, token: request.capability_token || undefined }),
    ...(execution_options && optionsFrom(execution_options)),
    ...(resource_limits && { limits: limitsFrom(resource_limits) }),
  };
}

function optionsFrom(options: ExecutionOptions): Partial<CallOrder> {
  return defined({
    idempotencyKey: options.idempotency_key,
    priority: options.priority,
    requireApproval: options.require_approval,
    asyncMode: options.async_mode,
    callbackUrl: options.callback_url,
  });
}

function callerFrom(context: AgentContext | null | undefined): Partial<Caller> {
  if (!context) return {};
  return defined({
    tenant: context.tenant_id,
    agent: context.agent_did,
    user: context.user_did,
    session: context.session_id || undefined,
  });
}

function limitsFrom(limits: InvokeResourceLimits): Partial<ResourceLimits> {
  return defined({
    timeoutMs: seconds(limits.timeout_seconds),
    memoryBytes: megabytes(limits.memory_mb_limit),
    cpuMillicores: limits.cpu_millicore_limit,
    networkMbps: limits.network_bandwidth_mbps,
  });
}
