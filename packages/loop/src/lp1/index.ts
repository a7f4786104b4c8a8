export { type AppliedPatch, applyPatch, type PatchedFile, type PatchFiles } from "./apply.ts";
export { parsePatch } from "./parse.ts";
export type * from "./patch.ts";
export { isLp1Problem, isMatchOperation, LP1_GUIDE } from "./patch.ts";
