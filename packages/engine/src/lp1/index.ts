export {
  type AppliedPatch,
  applyPatch,
  type PatchedFile,
  type PatchFiles,
} from "./apply-patch.ts";
export { applySection, type SectionOutcome } from "./apply-section.ts";
export { LP1_GUIDE } from "./guide.ts";
export { parsePatch } from "./parse-patch.ts";
export {
  type EdgeOperation,
  type FinalNewlineOperation,
  isMatchOperation,
  type Lp1Operation,
  type Lp1Patch,
  type Lp1Section,
  type MatchOperation,
} from "./patch.ts";
export {
  type FirstDifference,
  isLp1Problem,
  type Lp1Problem,
  type Lp1Reason,
  type MatchPlaces,
  type NearestPlace,
} from "./problem.ts";
