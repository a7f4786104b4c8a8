import type { JsonObject } from "@sallyport/protocol";
import type { Access, Route } from "../route.ts";

/** What can be shown at the door. */
export const SECURITY_SCHEMES: JsonObject = {
  capabilityToken: {
    type: "http",
    scheme: "bearer",
    bearerFormat: "JWT",
    description: "A capability token: who calls which tools, and until when.",
  },
  approvalToken: {
    type: "http",
    scheme: "bearer",
    bearerFormat: "JWT",
    description: "The token for one approval, for one person.",
  },
  operatorKey: {
    type: "http",
    scheme: "bearer",
    description: "The operator key (`spo_…`) or a session that was opened with it.",
  },
  operatorSession: {
    type: "apiKey",
    in: "cookie",
    name: "sallyport_session",
    description: "A session in a browser.",
  },
};

const OPERATOR = [{ operatorKey: [] }, { operatorSession: [] }];

/** An open door asks callers for nothing. */
const BY_ACCESS: Record<Access, JsonObject[]> = {
  public: [],
  caller: [{}, { capabilityToken: [] }, ...OPERATOR],
  operator: OPERATOR,
  approver: [{ approvalToken: [] }, ...OPERATOR],
};

/** These let everybody in and say themselves, in their own words, who may not. */
const ASK_THEMSELVES = ["sendMessage"];

/** Who may use a route, whoever finds that out. */
export function accessOf({ id, access }: Route): Access {
  return ASK_THEMSELVES.includes(id) ? "caller" : access;
}

export function securityOf(route: Route): JsonObject[] {
  return BY_ACCESS[accessOf(route)];
}
