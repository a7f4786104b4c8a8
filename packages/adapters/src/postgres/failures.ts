import { failure, SallyportError } from "@sallyport/protocol";
import { reasonOf } from "./driver.ts";

/** What an operator can do about SQLSTATE codes of PostgreSQL. */
const ADVICE: Readonly<Record<string, string>> = {
  "25006": "The server takes no writes: point the connection at the primary.",
  "28000": "Check the user and the authentication rules of the server.",
  "28P01": "Check the password of the connection.",
  "3D000": "Create the database, or name another in the connection string.",
  "42501": "Give the role the rights that docs/operate/postgres.md names.",
  "53100": "The disk of the server is full: free some space; nothing has to be repaired afterwards.",
  "53200": "The server is out of memory: give it more, or lower the pool sizes.",
  "53300": "The server has no connection left: lower poolSize or raise max_connections.",
  "55P03": "Another transaction holds a row for longer than lockTimeoutMs: look into pg_stat_activity.",
  ECONNREFUSED:
    "Nothing listens there: start PostgreSQL, or correct the host and port of the connection string.",
  ENOTFOUND: "There is no such host: correct the connection string.",
  "57014": "The server did not answer within statementTimeoutMs: look at its load.",
};

/**
 * What an error means for whoever sent a statement. `lost`: the connection is gone, and nobody knows what became of the
 * statement. `refused`: it never began, and another connection may do better. `retry`: it met another transaction and
 * was undone. `failed`: it was undone, and would be again.
 */
export type Fate = "lost" | "refused" | "retry" | "failed";

/** Deadlock, serialization failure, and a key that another transaction has written meanwhile. */
const MET_ANOTHER = new Set(["40001", "40P01", "23505"]);
/** Too many connections, a server that is starting, one that takes no writes, and a host that does not answer. */
const NEVER_BEGAN = new Set([
  "53300",
  "57P03",
  "25006",
  "ECONNREFUSED",
  "ENOTFOUND",
  "EHOSTUNREACH",
  "EAI_AGAIN",
]);

export function fateOf(error: unknown): Fate {
  const code = codeOf(error);
  if (NEVER_BEGAN.has(code)) return "refused";
  if (MET_ANOTHER.has(code)) return "retry";
  // 57P0x: the server ends the connection. What has no severity comes from the socket or from the driver's own time limit.
  return isServerError(error) && !code.startsWith("08") && !code.startsWith("57P") ? "failed" : "lost";
}

/** Every error that PostgreSQL sends has a severity. Those of sockets have codes of five letters too, such as EPIPE. */
function isServerError(error: unknown): boolean {
  return typeof (error as { severity?: unknown }).severity === "string";
}

/** Nothing listens at the address, or there is no such host. */
export function isAbsent(error: unknown): boolean {
  return ["ECONNREFUSED", "ENOTFOUND"].includes(codeOf(error));
}

/** Another transaction held a row for too long. */
export function isLockTimeout(error: unknown): boolean {
  return codeOf(error) === "55P03";
}

/** Another transaction has made the table that was to be made. */
export function isMadeMeanwhile(error: unknown): boolean {
  return ["42P07", "42710", "23505"].includes(codeOf(error));
}

function codeOf(error: unknown): string {
  const { code } = error as { code?: unknown };
  return typeof code === "string" ? code : "";
}

/** The exception for a store that cannot do what was asked, and has not done it. */
export function lost(message: string, advice?: string): SallyportError {
  return new SallyportError(failure("E3914", { message, ...(advice !== undefined && { advice }) }));
}

/** The exception behind an error of the driver. Neither it nor its cause holds the connection string. */
export function failedBy(cause: unknown, doing: string): SallyportError {
  if (cause instanceof SallyportError) return cause;
  const advice = ADVICE[codeOf(cause)];
  const message = `${doing}: ${reasonOf(cause)}`;
  return new SallyportError(failure("E3914", { message, ...(advice !== undefined && { advice }) }), {
    cause,
  });
}

/** The same, for a unit that the server may have: nobody knows whether it is written. */
export function unanswered(cause: unknown): SallyportError {
  const message = `The connection was lost before the unit was answered: ${reasonOf(cause)}`;
  return new SallyportError(failure("E3914", { message, details: { unanswered: true } }), { cause });
}
