import { type Failure, failure, isFailure } from "@sallyport/protocol";
import { OPERATOR_KEY_PREFIX } from "../../keys/operator-key.ts";
import type { Principal } from "../principal.ts";
import type { Access } from "../route.ts";
import type { OperatorKeyCheck } from "./operator-key-check.ts";
import { SESSION_PREFIX, type SessionBook } from "./session-book.ts";
import { sessionCookies } from "./session-cookie.ts";
import type { TokenReader } from "./token-reader.ts";

/** What somebody shows, by its form alone; nothing of it is checked. */
type Credential =
  | { kind: "none" }
  | { kind: "operator-key" | "session" | "session-cookie" | "token"; text: string }
  /** Shown, but in no form that is taken. */
  | { kind: "unreadable"; why: string };

const BEARER = /^Bearer +(\S+) *$/i;
const USUAL = "Bearer ey";
const NONE: Credential = { kind: "none" };

/** The header counts before the cookie: a program that sends one means it. */
function credentialOf({
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

/** What a request shows of who sent it. */
export interface Shown {
  authorization: string | undefined;
  cookie: string | undefined;
  /** Where the connection comes from. */
  address: string;
  /** Whether its method may change something. */
  mayChange: boolean;
  /** Whether a browser says that one of the door's own pages sent it. */
  fromOwnPage: boolean;
}

/** At once where nothing has to be read from the store: for tokens, the right operator key, and nothing at all. */
type Soon<Value> = Value | Promise<Value>;

/** Finds out who asks, and says who may use which route. */
export interface Guard {
  /**
   * Who sent the request. What cannot be accepted is a failure everywhere; only showing nothing makes one anyone. Rejects
   * when the store cannot be asked.
   */
  identify(shown: Shown): Soon<Principal | Failure>;
  /** Who a token from a body speaks for. */
  recognise(token: string): Principal | Failure;
  /** Whether what somebody showed earlier would be accepted now too. */
  holds(principal: Principal): Soon<boolean>;
  /** Why somebody may not use a route of this access. */
  refuse(principal: Principal, access: Access): Failure | undefined;
}

export interface GuardParts {
  callers: "open" | "token";
  operator: OperatorKeyCheck;
  sessions: SessionBook;
  tokens: TokenReader;
}

const ANYONE: Principal = { kind: "anyone" };

/** The guard of a door. Sessions and wrong operator keys are looked up in the store; nothing else waits. */
export function createGuard({ callers, operator, sessions, tokens }: GuardParts): Guard {
  const bySession = async ({ text }: { text: string }): Promise<Principal | Failure> => {
    const session = await sessions.find(text);
    if (!session) return failure("E3939", { message: "The session is over, or never was." });
    return { kind: "operator", name: session.name, session: session.id };
  };
  const byCookie = (credential: { text: string }, shown: Shown): Soon<Principal | Failure> =>
    shown.mayChange && !shown.fromOwnPage ? unseenPage() : bySession(credential);
  const identify = (credential: Credential, shown: Shown): Soon<Principal | Failure> => {
    switch (credential.kind) {
      case "none":
        return ANYONE;
      case "unreadable":
        return failure("E3939", { message: credential.why });
      case "operator-key":
        return operator.check(credential.text, shown.address) ?? { kind: "operator", name: "operator" };
      case "session":
        return bySession(credential);
      case "session-cookie":
        return byCookie(credential, shown);
      case "token":
        return tokens.read(credential.text);
    }
  };
  return {
    identify: (shown) => identify(credentialOf(shown), shown),
    recognise: (token) => tokens.read(token),
    holds: (principal) => {
      if (principal.kind === "agent") return !isFailure(tokens.read(principal.token));
      const isSession = principal.kind === "operator" && principal.session !== undefined;
      return !isSession || sessions.has(principal.session ?? "");
    },
    refuse: (principal, access) => refusal(principal, access, callers),
  };
}

/** A browser sends a cookie along with whatever a page asks for, so the page has to be one of ours. */
function unseenPage(): Failure {
  return failure("E3937", {
    message: "A session cookie changes something only for this server's own pages.",
    advice: "Send the session as `Authorization: Bearer`, or an Origin header with this server's address.",
  });
}

function refusal(principal: Principal, access: Access, callers: "open" | "token"): Failure | undefined {
  if (mayUse(principal, access, callers)) return undefined;
  return failure(principal.kind === "anyone" ? "E3938" : "E3940");
}

function mayUse({ kind }: Principal, access: Access, callers: "open" | "token"): boolean {
  switch (access) {
    case "public":
      return true;
    case "caller":
      return callers === "open" || kind === "agent" || kind === "operator";
    case "operator":
      return kind === "operator";
    case "approver":
      return kind === "operator" || kind === "approver";
  }
}
