/** The cookie a browser keeps its session in. */
export const SESSION_COOKIE = "sallyport_session";

/** A header that has the browser keep the session, where no script and no other site gets at it. */
export function keepCookie(
  token: string,
  { lifeMs, secure }: { lifeMs: number; secure: boolean },
): Record<string, string> {
  return {
    "set-cookie": `${SESSION_COOKIE}=${token}; Max-Age=${Math.floor(lifeMs / 1_000)}${attributes(secure)}`,
  };
}

/** A header that has the browser drop it. */
export function forgetCookie({ tls }: { tls?: unknown }): Record<string, string> {
  return { "set-cookie": `${SESSION_COOKIE}=; Max-Age=0${attributes(tls !== undefined)}` };
}

function attributes(secure: boolean): string {
  return `; Path=/; HttpOnly; SameSite=Strict${secure ? "; Secure" : ""}`;
}

/** Every value the session cookie has in a Cookie header. */
export function sessionCookies(header: string): string[] {
  if (!header.includes(SESSION_COOKIE)) return [];
  return header
    .split(";")
    .map((part) => part.trim())
    .filter((part) => part.startsWith(`${SESSION_COOKIE}=`))
    .map((part) => part.slice(SESSION_COOKIE.length + 1));
}
