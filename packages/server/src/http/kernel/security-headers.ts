const SEALED = "default-src 'none'; frame-ancestors 'none'";

/** For pages: what they load comes from here; styles may stand in the page, scripts may not. */
const PAGE =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
  "font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

const ONE_YEAR = 31_536_000;

/** Headers of every answer, by name. A reply may set its own value, never leave one out. */
export function securityHeaders({ tls }: { tls: boolean }): Record<string, string> {
  return {
    "cache-control": "no-store",
    "content-security-policy": SEALED,
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    ...(tls && { "strict-transport-security": `max-age=${ONE_YEAR}` }),
  };
}

/** What a page adds to them. */
export function pageHeaders(contentType: string): Record<string, string> {
  return contentType.startsWith("text/html") ? { "content-security-policy": PAGE } : {};
}
