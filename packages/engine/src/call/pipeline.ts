import { Passage } from "./passage.ts";
import { admit } from "./stages/admit.ts";
import { approve } from "./stages/approve.ts";
import { authorise } from "./stages/authorise.ts";
import { checkResult } from "./stages/check-result.ts";
import { commit } from "./stages/commit.ts";
import { execute } from "./stages/execute.ts";
import { journalIntent } from "./stages/journal-intent.ts";
import { resolve } from "./stages/resolve.ts";
import { validate } from "./stages/validate.ts";
import type { Arrived, Asked, Ending, Queued, Refused } from "./steps.ts";

/** The one way through, for every door. Each line needs what the lines above it provide. */
export const passage: Passage<Arrived, never, Asked | Ending | Queued | Refused> = Passage.from<Arrived>()
  .stage("resolve", resolve)
  .stage("validate", validate)
  .stage("authorise", authorise)
  .stage("approve", approve)
  .stage("admit", admit)
  .stage("journal intent", journalIntent)
  .stage("execute", execute)
  .stage("check result", checkResult)
  .stage("commit", commit);
