import { PRIORITIES } from "../call-order.ts";
import {
  anyObject,
  anyText,
  described,
  exactRecord,
  exampled,
  type Field,
  flag,
  named,
  nameText,
  oneOf,
  optional,
  positiveInteger,
  uuid,
  webAddress,
} from "./field-reader.ts";
import type {
  AgentContext,
  ExecutionOptions,
  InvokeResourceLimits,
  ToolInvokeRequest,
} from "./l3-messages.ts";
import { checkpointConfigField, documentContextField } from "./unoffered-fields.ts";

export const agentContextField: Field<AgentContext> = named(
  "AgentContext",
  exactRecord<AgentContext>({
    agent_did: described(nameText, "The agent that calls, such as did:agent:7."),
    tenant_id: described(nameText, "The tenant it calls for."),
    user_did: optional(described(nameText, "The person it acts for.")),
    session_id: optional(described(anyText, "The session it belongs to.")),
  }),
);

const resourceLimitsField: Field<InvokeResourceLimits> = named(
  "ResourceLimits",
  exactRecord<InvokeResourceLimits>({
    cpu_millicore_limit: optional(positiveInteger),
    memory_mb_limit: optional(positiveInteger),
    timeout_seconds: optional(positiveInteger),
    network_bandwidth_mbps: optional(positiveInteger),
  }),
);

const executionOptionsField: Field<ExecutionOptions> = named(
  "ExecutionOptions",
  exactRecord<ExecutionOptions>({
    async_mode: optional(described(flag, "Answer at once that the call is accepted; its status tells more.")),
    priority: optional(described(oneOf(PRIORITIES), "Who goes first when calls wait for room.")),
    idempotency_key: optional(described(nameText, "The same request with the same key runs once.")),
    require_approval: optional(described(flag, "Ask a person, even where policy would not.")),
    callback_url: optional(described(webAddress, "Told by a signed POST when the call has ended.")),
  }),
);

const request: Field<ToolInvokeRequest> = exactRecord<ToolInvokeRequest>({
  tool_id: described(nameText, "Which tool."),
  tool_version: optional(described(nameText, "An exact version or a SemVer range; left out: the newest.")),
  operation: optional(described(nameText, "Which of its operations; left out: its only one.")),
  invocation_id: optional(described(uuid, "A new id for this call; left out: one is made.")),
  agent_context: optional(
    described(agentContextField, "Who calls; left out: who the token says, or who the door is set to serve."),
  ),
  parameters: described(anyObject, "The input, as the operation's input schema asks for it."),
  resource_limits: optional(described(resourceLimitsField, "May only tighten what is allowed anyway.")),
  document_context: optional(documentContextField),
  checkpoint_config: optional(checkpointConfigField),
  execution_options: optional(executionOptionsField),
  capability_token: optional(
    described(anyText, "A capability token, where it does not come as a bearer token."),
  ),
});

/** The body of tool.invoke (L3 §4.1.1). */
export const toolInvokeRequestField: Field<ToolInvokeRequest> = named(
  "ToolInvokeRequest",
  exampled(request, { tool_id: "TOOL_ID", parameters: {} }),
);
