export { type NodeRuntime, nodeRuntime } from "./node-runtime.ts";
