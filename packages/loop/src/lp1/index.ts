export {
  type AppliedPatch,
  applyPatch,
  type PatchedFile,
  type PatchFiles,
} from "./apply.ts";
export { LP1_GUIDE } from "./guide.ts";
export { parsePatch } from "./parse.ts";
export {
  type EdgeOperation,
  type FinalNewlineOperation,
  type FirstDifference,
  isLp1Problem,
  isMatchOperation,
  type Lp1Operation,
  type Lp1Patch,
  type Lp1Problem,
  type Lp1Reason,
  type Lp1Section,
  type MatchOperation,
  type MatchPlaces,
  type NearestPlace,
} from "./patch.ts";
