export { matchesArgument } from "./argument-pattern.ts";
export {
  draftStanding,
  notAllowed,
  type StandingChoice,
  type StandingDraft,
  standingIssues,
} from "./draft-standing.ts";
export { ANY_AGENT, matchStanding, type StandingAsk } from "./match-standing.ts";
