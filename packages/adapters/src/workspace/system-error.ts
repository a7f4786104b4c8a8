const MESSAGES = {
  ENOENT: "no such file or directory",
  ENOTDIR: "not a directory",
  EISDIR: "is a directory",
  EEXIST: "file already exists",
  ENOTEMPTY: "directory not empty",
  EINVAL: "invalid argument",
  ELOOP: "too many symbolic links",
} as const;

/** An error as the system would give it, for a change that is only staged. */
export function systemError(code: keyof typeof MESSAGES, path: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`${code}: ${MESSAGES[code]}, ${JSON.stringify(path)}`), { code, path });
}

/** Whether it is a system's error with one of these codes. */
export function hasCode(error: unknown, ...codes: string[]): boolean {
  return error instanceof Error && "code" in error && codes.includes(String(error.code));
}

/** The answer, or undefined when it failed with one of these codes. */
export async function unless<T>(codes: readonly string[], work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (hasCode(error, ...codes)) return undefined;
    throw error;
  }
}

/** Tries once more after an error: a disk that failed for a moment must not leave work half done. */
export async function twice<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch {
    return work();
  }
}

/** An error's own words. */
export function wordsOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Codes that say there is nothing at a path. */
export const NOTHING_THERE = ["ENOENT", "ENOTDIR"] as const;
