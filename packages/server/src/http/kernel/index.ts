export type { DoorOptions } from "./build-door.ts";
export type { DoorLog } from "./door-log.ts";
export { DEFAULT_DOOR, type DoorSettings } from "./door-settings.ts";
export { isLoopback } from "./loopback.ts";
export { type HttpDoor, openHttpDoor } from "./open-door.ts";
export { PROBLEM_TYPE, type Problem, problemHeaders, problemOf, requestUrn, retryAfter } from "./problem.ts";
export { type TraceContext, traceContext } from "./trace-context.ts";
export type { DoorHooks, SeenAnswer, SeenRequest } from "./watching.ts";
