export { createGuard, type Guard, type GuardParts, type Shown } from "./guard.ts";
export { OperatorKeyCheck } from "./operator-key-check.ts";
export { type Session, SessionBook, type SessionBookOptions } from "./session-book.ts";
export { forgetCookie, SESSION_COOKIE } from "./session-cookie.ts";
export { type SessionGranted, type SessionRequest, sessionRoutes } from "./session-routes.ts";
export { TokenReader, type TokenReaderOptions } from "./token-reader.ts";
export { refuseWideBinding } from "./wide-binding.ts";
