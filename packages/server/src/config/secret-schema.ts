import { z } from "zod";

/** Where a secret is; the secret itself never stands in a configuration. */
export const secretReference = z.union([
  z.strictObject({ env: z.string().min(1).describe("An environment variable of Sallyport's.") }),
  z.strictObject({ file: z.string().min(1).describe("A file that only its owner can read.") }),
]);

/** The names that references of one kind give, wherever in a part of the configuration they stand. */
export function referencesIn(value: unknown, kind: "env" | "file"): string[] {
  if (typeof value !== "object" || value === null) return [];
  const own = Object.entries(value).flatMap(([key, name]) =>
    key === kind && typeof name === "string" ? [name] : [],
  );
  return [...own, ...Object.values(value).flatMap((part) => referencesIn(part, kind))];
}
