import {
  DENIED,
  EXHAUSTED,
  INTERNAL,
  INVALID,
  NOT_FOUND,
  STATE_BROKEN,
  TIMED_OUT,
  UNAVAILABLE,
} from "./families.ts";
import type { CatalogueEntry } from "./vocabulary.ts";

/** A request that no route could take, whatever it asks for. */
const UNFIT_REQUEST = { ...INVALID, jsonRpc: -32600, fixer: "caller" } as const;
const UNAUTHENTICATED = { ...DENIED, http: 401, fixer: "caller" } as const;

/** E393x to E394x: what the HTTP door refuses before any call begins, and the desk of a running server. */
export const HTTP_ERRORS = {
  E3930: {
    ...NOT_FOUND,
    title: "No such route",
    kind: "invalid_parameters",
    srd: "BadArgs",
    fixer: "caller",
    advice: "Look the path up in /openapi.json; paths are exact, with no slash at the end.",
  },
  E3931: {
    ...UNFIT_REQUEST,
    title: "Method is not allowed here",
    http: 405,
    advice: "Use one of the methods in the Allow header.",
  },
  E3932: {
    ...UNFIT_REQUEST,
    title: "Media type is not supported",
    http: 415,
    advice: "Send JSON in UTF-8, with the content type application/json and no content encoding.",
  },
  E3933: {
    ...TIMED_OUT,
    title: "Request did not arrive in time",
    http: 408,
    advice: "Send the whole request at once over a connection that is fast enough, then try again.",
  },
  E3934: {
    ...UNFIT_REQUEST,
    title: "URL is too long",
    srd: "LimitsExceeded",
    http: 414,
    advice: "Shorten the query, or ask for fewer things at once.",
  },
  E3935: {
    ...UNFIT_REQUEST,
    title: "Request headers are too large or too many",
    srd: "LimitsExceeded",
    http: 431,
    advice: "Send fewer and smaller headers; cookies of other services are a common cause.",
  },
  E3936: {
    ...UNFIT_REQUEST,
    title: "Host is not served here",
    http: 421,
    advice: "Use the address the server prints at its start, or add this name to http.allowedHosts.",
  },
  E3937: {
    ...DENIED,
    title: "Origin is not allowed",
    advice: "Call from a program or the server's own pages, or add this origin to http.allowedOrigins.",
  },
  E3938: {
    ...UNAUTHENTICATED,
    title: "A credential is required",
    advice: "Send `Authorization: Bearer` with a capability token, or the operator key for management.",
  },
  E3939: {
    ...UNAUTHENTICATED,
    title: "Credential was not accepted",
    advice: "Send the present operator key or a session that is still open, or none where none is needed.",
  },
  E3940: {
    ...DENIED,
    title: "This credential is not for this route",
    advice: "Use the operator key or a session of it; other credentials do not open this route.",
  },
  E3941: {
    ...EXHAUSTED,
    title: "Too many wrong operator keys",
    kind: "rate_limit_exceeded",
    http: 429,
    jsonRpc: -32022,
    advice: "Wait as long as Retry-After says, then send the right key.",
  },
  E3942: {
    ...UNAVAILABLE,
    title: "Server is shutting down",
    advice: "Send the request again once the server is back.",
  },
  E3943: {
    ...INTERNAL,
    title: "Door could not be opened",
    advice: "Choose another http.host or http.port, or stop what uses this one.",
  },
  E3944: {
    ...UNFIT_REQUEST,
    title: "Expectation cannot be met",
    http: 417,
    advice: "Leave the Expect header out, or send 100-continue in it.",
  },
  E3945: {
    ...STATE_BROKEN,
    title: "Running server could not be asked",
    http: 503,
    advice:
      "Look whether it did what was asked before you ask again: sallyport calls list, approvals list or grants list.",
  },
} as const satisfies Record<string, CatalogueEntry>;
