/** The end of an escape, after which something new begins though letters or digits stand before it. */
export const AFTER_ESCAPE = "(?<=%[0-9A-Fa-f]{2}|\\\\[nrt]|\\\\u[0-9A-Fa-f]{4})";

const ESCAPE_TAIL = /^(?:%[0-9A-Fa-f]{2}|\\[nrt]|\\u[0-9A-Fa-f]{4})/;

/** How many characters from `at` on belong to an escape (`%20`, `\n`, `\u003d`) whose sign stands before them. */
export function escapeTail(text: string, at: number): number {
  const sign = text.charCodeAt(at - 1);
  if (sign !== 0x25 && sign !== 0x5c) return 0;
  return (ESCAPE_TAIL.exec(text.slice(at - 1, at + 5))?.[0].length ?? 1) - 1;
}

const AFTER = new RegExp(`${AFTER_ESCAPE}$`);

/** Whether an escape ends before `at`. */
export function isAfterEscape(text: string, at: number): boolean {
  return AFTER.test(text.slice(Math.max(0, at - 6), at));
}
