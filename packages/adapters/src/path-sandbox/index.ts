export type { CheckedPath, PathSandbox, PathSandboxOptions } from "./contract.ts";
export { DEFAULT_DENIES } from "./default-denies.ts";
export { openPathSandbox } from "./open-path-sandbox.ts";
