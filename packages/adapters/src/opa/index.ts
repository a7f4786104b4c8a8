export { createOpaPolicy, OPA_ENDPOINT, type OpaOptions } from "./opa-policy.ts";
