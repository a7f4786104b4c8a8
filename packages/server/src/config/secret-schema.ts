import { z } from "zod";

/** Where a secret is; the secret itself never stands in a configuration. */
export const secretReference = z.union([
  z.strictObject({ env: z.string().min(1).describe("An environment variable of Sallyport's.") }),
  z.strictObject({ file: z.string().min(1).describe("A file that only its owner can read.") }),
]);
