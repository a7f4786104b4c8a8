import {
  DENIED,
  entry,
  INVALID,
  NOT_FOUND,
  RATE_LIMITED,
  STATE_CONFLICT,
  UNAUTHENTICATED,
} from "./families.ts";

/** E32xx: tokens, grants and policy. */
export const PERMISSION_ERRORS = {
  E3201: entry(UNAUTHENTICATED, "Invalid capability token", {
    advice: "Send a token signed by an issuer this server trusts.",
  }),
  E3202: entry(UNAUTHENTICATED, "Expired capability token", {
    advice: "Get a fresh token from its issuer and call again.",
  }),
  E3203: entry(DENIED, "Permission denied: filesystem", {
    advice: "Grant the paths named in the details, or keep to the ones that are granted.",
    srd: "PathOutsideSandbox",
  }),
  E3204: entry(DENIED, "Permission denied: network", {
    advice: "Grant the hosts named in the details, or keep to the ones that are granted.",
  }),
  E3205: entry(DENIED, "Permission denied: credentials", {
    advice: "Grant the credentials named in the details, or call a tool that needs none.",
  }),
  E3206: entry(DENIED, "Policy could not be evaluated", {
    advice: "Bring the policy engine back; until it answers every call is denied.",
    http: 503,
  }),
  E3207: entry(UNAUTHENTICATED, "Token lacks required claims", {
    advice: "Have the token issued with the claims named in the issues.",
  }),
  E3208: entry(UNAUTHENTICATED, "Token was revoked", {
    advice: "Get a new token from its issuer; a revoked one is never accepted again.",
  }),
  E3209: entry(DENIED, "No grant allows this call", {
    advice: "Add a grant for this caller and tool: without a grant every call is denied.",
    srd: "Denylisted",
  }),
  E3210: entry(DENIED, "A required capability is not granted", {
    advice: "Grant the capabilities named in the details to this caller.",
  }),
  E3211: entry(DENIED, "Approval is required, but this call does not wait for one", {
    advice: "Let the call wait for approval (--on-approval wait or pending), or grant it beforehand.",
    srd: "Disabled",
  }),
  E3212: entry(DENIED, "Tool used a capability it did not declare or was not granted", {
    advice: "Declare the capability in the tool's manifest and grant it, or correct the tool.",
  }),
  E3213: entry(DENIED, "Approval is pending", {
    advice: "Wait until a person has answered, then ask for the same call again; nothing has run yet.",
    status: "pending_approval",
    http: 202,
    jsonRpc: -32023,
  }),
  E3214: entry(DENIED, "A person denied the call", {
    advice: "Do not repeat the call unchanged; read the person's reason and change the call.",
  }),
  E3215: entry(DENIED, "Approval was not given in time", {
    advice: "Call again when an approver is available; a question without an answer counts as no.",
    srd: "Disabled",
  }),
  E3216: entry(DENIED, "The call differs from what was approved", {
    advice:
      "Ask for approval again: the arguments, the tool, the policy or the caller changed after it was given.",
  }),
  E3217: entry(DENIED, "The call's authority was withdrawn while it ran", {
    advice: "Get a new grant or token before calling again; the call was ended and rolled back.",
  }),
  E3218: entry(DENIED, "The tool's security level is above the caller's clearance", {
    advice: "Raise the agent's clearance in the configuration, or call a tool of a lower level.",
  }),
  E3219: entry(DENIED, "The tool is in quarantine", {
    advice: "Look at why it was put there, then release it with `sallyport tools release`.",
  }),
  E3220: entry(INVALID, "The grant cannot be issued", {
    advice: "Correct each part named in the issues: nobody can grant more than they hold.",
    fixer: "operator",
  }),
  E3221: entry(NOT_FOUND, "There is no such approval or grant", {
    advice: "List them to find the id: `sallyport approvals list`, `sallyport grants list`.",
    fixer: "operator",
  }),
  E3222: entry(STATE_CONFLICT, "The approval or grant is settled already", {
    advice: "Look at its state; a settled approval or grant does not change. Ask again instead.",
    fixer: "operator",
  }),
  E3223: entry(INVALID, "The policy cannot be used", {
    advice: "Correct each place named in the issues; until then the policy in force stays.",
    fixer: "operator",
  }),
  E3224: entry(RATE_LIMITED, "The grant allows no more uses for now", {
    advice: "Wait as long as the details say, then call again.",
  }),
  E3225: entry(DENIED, "A policy rule denies this call", {
    advice: "Keep to what the rule named in the details allows, or have the rule changed.",
    srd: "Denylisted",
  }),
  E3226: entry(DENIED, "This person may not approve or deny this call", {
    advice: "Have an approver of the current level answer; nobody can approve a call of their own.",
  }),
  E3227: entry(INVALID, "The keys cannot be used", {
    advice: "Create keys with `sallyport keys init`; only their owner may read the files.",
    fixer: "operator",
  }),
  E3228: entry(DENIED, "The call needs more than the permissions its request names", {
    advice:
      "Name the missing permissions in the request, leave the list out, or call a tool that needs less.",
    fixer: "caller",
  }),
};
