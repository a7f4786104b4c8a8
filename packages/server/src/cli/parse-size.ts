import { InvalidArgumentError } from "commander";

const UNIT_BYTES: Readonly<Record<string, number>> = { "": 1, K: 1024, M: 1024 ** 2, G: 1024 ** 3 };
const SIZE = /^(\d{1,9})([KMG]?)$/i;

/** `512`, `64K`, `256M`, `2G`, in bytes. */
export function parseSize(text: string): number {
  const [, count, unit = ""] = SIZE.exec(text) ?? [];
  const bytes = Number(count) * (UNIT_BYTES[unit.toUpperCase()] ?? 1);
  if (Number.isSafeInteger(bytes) && bytes > 0) return bytes;
  throw new InvalidArgumentError("a size such as 512, 64K, 256M or 2G");
}

const STEPS = ["bytes", "KiB", "MiB", "GiB"] as const;

/** A size for a person. */
export function sizeText(bytes: number): string {
  const step = bytes < 1024 ? 0 : Math.min(3, Math.floor(Math.log2(bytes) / 10));
  const value = bytes / 1024 ** step;
  return `${step === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${STEPS[step]}`;
}
