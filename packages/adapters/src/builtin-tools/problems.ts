import { type ToolCode, ToolFailure } from "@sallyport/engine/tool";
import { type Failure, failure, SallyportError } from "@sallyport/protocol";

/** Arguments that cannot be meant (E3901). */
export function badArguments(message: string): ToolFailure {
  return new ToolFailure("E3901", `Bad args: ${message}`);
}

/** The tool could not do it (E3907); the engine puts the tool's name in front. */
export function executionFailed(message: string): ToolFailure {
  return new ToolFailure("E3907", message);
}

/** A patch that does not fit (E3951). Nothing is written. */
export function patchFailed(file: string, message: string): ToolFailure {
  return new ToolFailure("E3951", `Patch failed for ${file}: ${message}`, { file });
}

/** Why a file may not be patched (FR-TOOL-PATCH-02). */
export const STALE = {
  unread: "File was not read before patching",
  changed: "File content changed since last read",
} as const;

/** A file the conversation does not know as it is (E3952). */
export function staleFile(file: string, reason: keyof typeof STALE): ToolFailure {
  const why = STALE[reason];
  return new ToolFailure("E3952", `Stale file ${file}: ${why}`, { file, reason: why });
}

/** More than a limit allows (E3957). */
export function limitExceeded(message: string): ToolFailure {
  return new ToolFailure("E3957", message);
}

const PATH_CODES = ["E3901", "E3955", "E3956"] as const satisfies readonly ToolCode[];

/** A path that the sandbox refuses, thrown by a tool. */
class PathRefused extends ToolFailure {
  /** The same as a value, with the advice apart. */
  readonly refusal: Failure;

  constructor(code: ToolCode, refusal: Failure) {
    super(code, spoken(refusal), textsOf(refusal));
    this.refusal = refusal;
  }
}

/** What the path sandbox says, as the tool throws it. */
export function pathRefused(said: Failure): ToolFailure {
  const code = PATH_CODES.find((one) => one === said.code) ?? "E3907";
  const message = code === "E3901" ? `Bad args: ${said.message}` : said.message;
  return new PathRefused(code, { ...said, message });
}

function textsOf({ details = {} }: Failure): Record<string, string> {
  return Object.fromEntries(
    Object.entries(details).filter((entry): entry is [string, string] => typeof entry[1] === "string"),
  );
}

/** Of what is thrown only the message gets through, and the catalogue's advice is put beside it: it is not said here. */
function spoken({ code, message, advice }: Failure): string {
  return advice === failure(code).advice ? message : `${message} ${advice}`;
}

/** What a tool would throw, as a value; anything else is a defect and thrown on. */
export function asFailure(thrown: unknown): Failure {
  if (thrown instanceof PathRefused) return thrown.refusal;
  if (thrown instanceof ToolFailure)
    return failure(thrown.toolCode, { message: thrown.message, details: thrown.toolDetails });
  throw thrown;
}

const SYSTEM_WORDS: Readonly<Record<string, string>> = {
  ENOENT: "no such file or directory",
  ENOTDIR: "a part of the path is not a directory",
  EISDIR: "is a directory",
  EACCES: "permission denied",
  EPERM: "permission denied",
  ENAMETOOLONG: "the name is too long",
  ELOOP: "too many symbolic links",
};

/** The system could not do it for a reason that says nothing about the path, and may be gone the next time. */
class SystemTrouble extends ToolFailure {}

/** Whether a tool failed by no fault of the call's. */
export function isSystemTrouble(thrown: unknown): boolean {
  return thrown instanceof SystemTrouble;
}

/**
 * What a file access ended in, in words about the path as the caller wrote it. What is not about the path is given back
 * as it is: a breach of the tool's own bounds ends the call, and says so itself.
 */
export function fileProblem(asked: string, thrown: unknown): unknown {
  if (thrown instanceof SallyportError && thrown.failure.code === "E3105" && thrown.failure.details?.path)
    return new ToolFailure("E3956", `${asked}: the workspace does not let this path be used`, {
      attempted: asked,
    });
  const code = codeOf(thrown);
  if (code === undefined) return thrown;
  const known = SYSTEM_WORDS[code];
  return known === undefined
    ? new SystemTrouble("E3907", `${asked}: ${code}`)
    : executionFailed(`${asked}: ${known}`);
}

/** A system's error code, such as `ENOENT`. */
export function codeOf(thrown: unknown): string | undefined {
  if (!(thrown instanceof Error) || !("code" in thrown) || typeof thrown.code !== "string") return undefined;
  return /^E[A-Z]+$/.test(thrown.code) ? thrown.code : undefined;
}
