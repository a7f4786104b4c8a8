import { InvalidArgumentError } from "commander";

const UNIT_MS = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
const LENGTH = /^(\d{1,6})(s|m|h|d)$/;

/** `45s`, `15m`, `12h`, `7d`, in milliseconds. */
export function parseLength(text: string): number {
  const [, count, unit] = LENGTH.exec(text) ?? [];
  if (count === undefined || unit === undefined || Number(count) === 0) {
    throw new InvalidArgumentError("a length of time such as 45s, 15m, 12h or 7d");
  }
  return Number(count) * UNIT_MS[unit as keyof typeof UNIT_MS];
}
