export { type AbacOptions, createAbacPolicy } from "./abac-policy.ts";
