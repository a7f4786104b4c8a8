export * from "./call-order.ts";
export * from "./canonical-json.ts";
export * from "./decode.ts";
export * from "./domain-package.ts";
export * from "./errors/catalogue.ts";
export * from "./fields.ts";
export * from "./http/approvals.ts";
export * from "./http/gateway.ts";
export * from "./http/grants.ts";
export * from "./http/invocations.ts";
export { type Problem, problemField } from "./http/problem.ts";
export * from "./http/service.ts";
export * from "./http/tools.ts";
export * from "./json.ts";
export {
  acceptedResponse,
  callFromInvoke,
  invokeResponse,
  type ResponseContext,
  type ToolInvokeRequest,
  type ToolInvokeResponse,
  toolError,
  toolInvokeRequestField,
  toolInvokeResponseField,
} from "./l3-invoke.ts";
export * from "./lifecycle.ts";
export * from "./manifest.ts";
export * from "./manifest-dialects.ts";
export * from "./mcx.ts";
export * from "./nearest-name.ts";
export * from "./outcome.ts";
export * from "./worker-envelope.ts";
