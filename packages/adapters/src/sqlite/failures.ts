import { type Failure, failure, SallyportError } from "@sallyport/protocol";

/** SQLite's primary result codes that an operator can do something about. */
const ADVICE = new Map<number, string>([
  [3, "Give this user read and write permission on the state folder and its files."],
  [8, "Give this user write permission on the state folder, or open the store read-only."],
  [10, "The disk reported an error: check the file system and the free space, then start again."],
  [11, "The database is damaged: keep the folder for inspection and restore a backup."],
  [13, "The disk is full: free some space; nothing has to be repaired afterwards."],
  [14, "Check that the state folder exists, is a folder, and belongs to this user."],
  [26, "sallyport.db is not a database: restore a backup, or use another state folder."],
]);

interface Context {
  advice?: string;
  cause?: unknown;
}

/** The exception for a store that cannot do what was asked, and has not done it. */
export function lost(message: string, { advice, cause }: Context = {}): SallyportError {
  return new SallyportError(
    failure("E3914", { message, ...(advice !== undefined && { advice }) }),
    cause === undefined ? {} : { cause },
  );
}

/** The same loss, for a unit that was with the writer then: nobody knows whether it is written. */
export function unanswered({ failure: { message }, cause }: SallyportError): SallyportError {
  return new SallyportError(
    failure("E3914", { message, details: { unanswered: true } }),
    cause === undefined ? {} : { cause },
  );
}

/** The failure behind any error met while working on the folder; a SallyportError's own when it is one. */
export function failureOf(error: unknown, doing: string): Failure {
  if (error instanceof SallyportError) return error.failure;
  const reason = error instanceof Error ? error.message : String(error);
  const advice = ADVICE.get(sqliteCode(error));
  return failure("E3914", { message: `${doing}: ${reason}`, ...(advice !== undefined && { advice }) });
}

/** SQLite's primary result code, or 0 when the error is not SQLite's. */
export function sqliteCode(error: unknown): number {
  if (!(error instanceof Error) || !("errcode" in error)) return 0;
  return typeof error.errcode === "number" ? error.errcode & 0xff : 0;
}
