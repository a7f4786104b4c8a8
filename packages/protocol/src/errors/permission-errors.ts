import { DENIED } from "./families.ts";
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
    title: "Approval is required and nobody can be asked here",
    srd: "Disabled",
    advice: "Call through a door where a person can approve, or grant this call beforehand.",
  },
  E3212: {
    ...DENIED,
    title: "Tool used a capability it did not declare or was not granted",
    advice: "Declare the capability in the tool's manifest and grant it, or correct the tool.",
  },
} as const satisfies Record<string, CatalogueEntry>;
