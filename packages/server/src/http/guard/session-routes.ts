import {
  absentOr,
  described,
  failure,
  type Infer,
  matching,
  named,
  oneOf,
  optional,
  record,
  SallyportError,
  text,
  timestamp,
} from "@sallyport/protocol";
import { defineRoute, type Reply, type Route, type RouteRequest } from "../route.ts";
import type { SessionBook } from "./session-book.ts";
import { forgetCookie, keepCookie } from "./session-cookie.ts";

/** What somebody with the operator key asks for. */
const requestField = optional(
  named(
    "SessionRequest",
    record({
      as: optional(
        described(
          oneOf(["bearer", "cookie"]),
          "cookie: for a browser, out of reach of scripts. Left out: bearer.",
        ),
      ),
      name: optional(
        described(
          matching(/^[\w.@ -]{1,64}$/, "1 to 64 letters, digits, spaces or ._@-"),
          "Who it is for, for the record.",
        ),
      ),
    }),
  ),
);

export type SessionRequest = NonNullable<Infer<typeof requestField>>;

/** What it gets; no token when the session is kept in a cookie. */
const grantedField = named("Session", record({ token: absentOr(text), name: text, expires_at: timestamp }));
export type SessionGranted = Infer<typeof grantedField>;

/** Routes by which the operator key is exchanged for a session, and a session is ended. */
export function sessionRoutes({ sessions, tls }: { sessions: SessionBook; tls: boolean }): Route[] {
  return [
    defineRoute({
      id: "openSession",
      method: "POST",
      path: "/v1/sessions",
      tag: "Sessions",
      summary: "Exchange the operator key for a session",
      description: "A session lasts eight hours at most. Every process on the same store knows it.",
      access: "operator",
      body: requestField,
      answers: { 201: { description: "The session is open.", schema: grantedField } },
      handle: (asked) => openSession(asked, { sessions, tls }),
    }),
    defineRoute({
      id: "endSession",
      method: "DELETE",
      path: "/v1/sessions/current",
      tag: "Sessions",
      summary: "End the session this request came by",
      access: "operator",
      answers: { 204: { description: "The session is over." } },
      handle: async ({ principal }) => {
        if (principal.kind === "operator" && principal.session !== undefined)
          await sessions.end(principal.session);
        return { status: 204, headers: forgetCookie({ tls: tls || undefined }) };
      },
    }),
  ];
}

async function openSession(
  { principal, body }: RouteRequest<unknown, unknown, SessionRequest | null | undefined>,
  { sessions, tls }: { sessions: SessionBook; tls: boolean },
): Promise<Reply> {
  // Else a session could be made to last for ever.
  if (principal.kind !== "operator" || principal.session !== undefined)
    throw new SallyportError(failure("E3940", { message: "Only the operator key itself opens a session." }));
  const { token, session } = await sessions.open(body?.name ?? principal.name);
  const { name, expiresAt } = session;
  const granted: SessionGranted = { name, expires_at: new Date(expiresAt).toISOString() };
  if (body?.as === "cookie") {
    const headers = keepCookie(token, { lifeMs: sessions.lifeMs, secure: tls });
    return { status: 201, headers, body: granted };
  }
  return { status: 201, body: { token, ...granted } };
}
