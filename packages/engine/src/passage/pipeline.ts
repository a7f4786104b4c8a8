import { approve } from "../approvals/stage.ts";
import { admit } from "./admit.ts";
import { type Authorised, authorise } from "./authorise.ts";
import { commit } from "./commit.ts";
import { execute } from "./execute.ts";
import { journalIntent } from "./journal-intent.ts";
import { Passage } from "./passage.ts";
import { resolve } from "./resolve.ts";
import type { ApprovalPending, Arrived, Ending, Queued, Refused } from "./steps.ts";
import { checkResult, validate } from "./validate.ts";

/** The stages that only look: they write nothing, ask nobody and run nothing. A plan of a call walks these alone. */
export const evaluation: Passage<Arrived, Authorised, Ending | Refused> = Passage.from<Arrived>()
  .stage("resolve", resolve)
  .stage("validate", validate)
  .stage("authorise", authorise);

/** The one way through, for every door. Each line needs what the lines above it provide. */
export const passage: Passage<Arrived, never, ApprovalPending | Ending | Queued | Refused> = evaluation
  .stage("approve", approve)
  .stage("admit", admit)
  .stage("journal intent", journalIntent)
  .stage("execute", execute)
  .stage("check result", checkResult)
  .stage("commit", commit);
