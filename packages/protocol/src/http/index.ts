/** The messages of the HTTP API: their types, and the fields that read and describe them. */
export * from "./approval-fields.ts";
export * from "./approval-messages.ts";
export * from "./approval-request-fields.ts";
export * from "./audit-messages.ts";
export * from "./event-messages.ts";
export * from "./grant-fields.ts";
export * from "./grant-messages.ts";
export * from "./house-messages.ts";
export * from "./invocation-fields.ts";
export * from "./invocation-messages.ts";
export * from "./problem.ts";
export * from "./tool-fields.ts";
export * from "./tool-messages.ts";
