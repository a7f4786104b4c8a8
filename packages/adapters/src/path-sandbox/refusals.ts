import { type Failure, failure, SallyportError } from "@sallyport/protocol";
import { boundedPath, shownPath } from "./shown-path.ts";

/* What is wrong is the message, what to do is the advice: whoever shows both must not say anything twice. */

/** Not a path that anything could be done with (E3901). */
export function badPath(path: string, why: string, advice: string): Failure {
  return failure("E3901", { message: about(path, why), advice, details: { attempted: boundedPath(path) } });
}

/** A path that is not, or must be taken not to be, inside the roots (E3955). The details keep where it leads. */
export function outside(
  path: string,
  why: string,
  { resolved, advice }: { resolved?: string; advice?: string } = {},
): Failure {
  return failure("E3955", {
    message: about(path, why),
    ...(advice !== undefined && { advice }),
    details: {
      attempted: boundedPath(path),
      ...(resolved !== undefined && { resolved: boundedPath(resolved) }),
    },
  });
}

/** A path that a pattern denies (E3956). */
export function deniedPath(path: string, pattern: string): Failure {
  return failure("E3956", {
    message: about(path, `is denied by the pattern ${shownPath(pattern)}`),
    details: { attempted: boundedPath(path), pattern: boundedPath(pattern) },
  });
}

/** Inside and allowed, but nothing can be done with what is there (E3907). */
export function unusable(path: string, why: string, advice: string): Failure {
  return failure("E3907", { message: about(path, why), advice, details: { attempted: boundedPath(path) } });
}

/** What is at a path is not what was there when it was checked (E3955). */
export function changedSince(path: string): Failure {
  const advice = "Look at the folder again, then call again.";
  return outside(path, "was changed between its check and its use", { advice });
}

/** A configuration that no sandbox can be made of (E3919). For start-up, so an exception. */
export function badSandbox(message: string, advice: string): SallyportError {
  return new SallyportError(failure("E3919", { message, advice }));
}

function about(path: string, why: string): string {
  return `The path ${shownPath(path)} ${why}.`;
}
