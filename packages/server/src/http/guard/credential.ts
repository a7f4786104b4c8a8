import { OPERATOR_KEY_PREFIX } from "../../keys/operator-key.ts";
import { SESSION_PREFIX } from "./session-book.ts";
import { sessionCookies } from "./session-cookie.ts";

/** What somebody shows, by its form alone; nothing of it is checked. */
export type Credential =
  | { kind: "none" }
  | { kind: "operator-key" | "session" | "session-cookie" | "token"; text: string }
  /** Shown, but in no form that is taken. */
  | { kind: "unreadable"; why: string };

const BEARER = /^Bearer +(\S+) *$/i;
const USUAL = "Bearer ey";
const NONE: Credential = { kind: "none" };

/** The header counts before the cookie: a program that sends one means it. */
export function credentialOf({
  authorization,
  cookie,
}: {
  authorization: string | undefined;
  cookie: string | undefined;
}): Credential {
  if (authorization !== undefined) return bearer(authorization);
  return cookie === undefined ? NONE : inCookie(cookie);
}

function bearer(authorization: string): Credential {
  // A signed token, written as everybody does; the checker looks at each of its characters anyway.
  if (authorization.startsWith(USUAL)) return { kind: "token", text: authorization.slice("Bearer ".length) };
  const [, text] = BEARER.exec(authorization) ?? [];
  if (text === undefined)
    return { kind: "unreadable", why: "Authorization has to be `Bearer` and a credential." };
  if (text.startsWith(OPERATOR_KEY_PREFIX)) return { kind: "operator-key", text };
  return { kind: text.startsWith(SESSION_PREFIX) ? "session" : "token", text };
}

function inCookie(cookie: string): Credential {
  const [text, ...more] = sessionCookies(cookie);
  if (text === undefined) return NONE;
  // Another site of the same host can add a cookie of this name, and which of them comes first is up to the browser.
  if (more.length > 0) return { kind: "unreadable", why: "There is more than one session cookie." };
  return { kind: "session-cookie", text };
}
