import { DENIED, EXHAUSTED, INVALID, NOT_FOUND, STATE_CONFLICT } from "./families.ts";
import type { CatalogueEntry } from "./vocabulary.ts";

const UNAUTHENTICATED = { ...DENIED, http: 401, fixer: "caller" } as const;

/** E32xx: tokens, grants and policy. */
export const PERMISSION_ERRORS = {
  E3201: {
    ...UNAUTHENTICATED,
    title: "Invalid capability token",
    advice: "Send a token signed by an issuer this server trusts.",
  },
  E3202: {
    ...UNAUTHENTICATED,
    title: "Expired capability token",
    advice: "Get a fresh token from its issuer and call again.",
  },
  E3203: {
    ...DENIED,
    title: "Permission denied: filesystem",
    srd: "PathOutsideSandbox",
    advice: "Grant the paths named in the details, or keep to the ones that are granted.",
  },
  E3204: {
    ...DENIED,
    title: "Permission denied: network",
    advice: "Grant the hosts named in the details, or keep to the ones that are granted.",
  },
  E3205: {
    ...DENIED,
    title: "Permission denied: credentials",
    advice: "Grant the credentials named in the details, or call a tool that needs none.",
  },
  E3206: {
    ...DENIED,
    title: "Policy could not be asked",
    http: 503,
    advice: "Bring the policy engine back; until it answers every call is denied.",
  },
  E3207: {
    ...UNAUTHENTICATED,
    title: "Token lacks required claims",
    advice: "Have the token issued with the claims named in the issues.",
  },
  E3208: {
    ...UNAUTHENTICATED,
    title: "Token was revoked",
    advice: "Get a new token from its issuer; a revoked one is never accepted again.",
  },
  E3209: {
    ...DENIED,
    title: "No grant allows this call",
    srd: "Denylisted",
    advice: "Add a grant for this caller and tool: what nothing allows is denied.",
  },
  E3210: {
    ...DENIED,
    title: "A required capability is not granted",
    advice: "Grant the capabilities named in the details to this caller.",
  },
  E3211: {
    ...DENIED,
    title: "Approval is required and nobody is to be asked",
    srd: "Disabled",
    advice:
      "Call so that a person can be asked (--on-approval wait or pending), or grant this call beforehand.",
  },
  E3212: {
    ...DENIED,
    title: "Tool used a capability it did not declare or was not granted",
    advice: "Declare the capability in the tool's manifest and grant it, or correct the tool.",
  },
  E3213: {
    ...DENIED,
    title: "Approval is pending",
    status: "pending_approval",
    http: 202,
    jsonRpc: -32023,
    advice: "Wait until a person has answered, then ask for the same call again; nothing has run yet.",
  },
  E3214: {
    ...DENIED,
    title: "A person denied the call",
    advice: "Do not repeat the call unchanged; the reason says what the person minded.",
  },
  E3215: {
    ...DENIED,
    title: "Approval was not given in time",
    srd: "Disabled",
    advice: "Call again when somebody is there to answer; an unanswered question is a no.",
  },
  E3216: {
    ...DENIED,
    title: "What would run is not what was approved",
    advice: "Ask for approval again: the arguments, the tool, the policy or the caller have changed.",
  },
  E3217: {
    ...DENIED,
    title: "The call's authority was withdrawn while it ran",
    advice: "Get a new grant or token before calling again; the call was ended and rolled back.",
  },
  E3218: {
    ...DENIED,
    title: "The tool's security level is above the caller's clearance",
    advice: "Raise the agent's clearance in the configuration, or call a tool of a lower level.",
  },
  E3219: {
    ...DENIED,
    title: "The tool is in quarantine",
    advice: "Look at why it was put there, then release it with `sallyport tools release`.",
  },
  E3220: {
    ...INVALID,
    title: "The grant cannot be given",
    fixer: "operator",
    advice: "Correct each part named in the issues: a grant never gives more than its giver holds.",
  },
  E3221: {
    ...NOT_FOUND,
    title: "There is no such approval or grant",
    fixer: "operator",
    advice: "List them to find the id: `sallyport approvals list`, `sallyport grants list`.",
  },
  E3222: {
    ...STATE_CONFLICT,
    title: "The approval or grant is settled already",
    fixer: "operator",
    advice: "Look at how it stands now; what is settled is not changed, ask anew instead.",
  },
  E3223: {
    ...INVALID,
    title: "The policy cannot be used",
    fixer: "operator",
    advice: "Correct each place named in the issues; until then the policy in force stays.",
  },
  E3224: {
    ...EXHAUSTED,
    title: "The grant allows no more uses for now",
    kind: "rate_limit_exceeded",
    http: 429,
    jsonRpc: -32022,
    advice: "Wait as long as the details say, then call again.",
  },
  E3225: {
    ...DENIED,
    title: "A policy rule denies this call",
    srd: "Denylisted",
    advice: "Keep to what the rule named in the details allows, or have the rule changed.",
  },
  E3226: {
    ...DENIED,
    title: "This person may not answer for this call",
    advice: "Let one of the approvers of the present level answer; nobody answers for a call of their own.",
  },
  E3227: {
    ...INVALID,
    title: "The keys cannot be used",
    fixer: "operator",
    advice: "Make keys with `sallyport keys init`, readable by their owner alone.",
  },
} as const satisfies Record<string, CatalogueEntry>;
