const BYTES_PER_MB = 1024 * 1024;

/** Seconds in milliseconds; nothing stays nothing. */
export function seconds(value: number | null | undefined): number | undefined {
  return typeof value === "number" ? value * 1000 : undefined;
}

/** Megabytes in bytes; nothing stays nothing. */
export function megabytes(value: number | null | undefined): number | undefined {
  return typeof value === "number" ? value * BYTES_PER_MB : undefined;
}

/** Bytes in whole megabytes, rounded up so that a little is never reported as nothing. */
export function inMegabytes(bytes: number): number {
  return Math.ceil(bytes / BYTES_PER_MB);
}
