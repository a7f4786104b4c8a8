import { z } from "zod";
import { secretReference } from "./secret-schema.ts";

const positive = z.int().positive();

/** A password in a configuration file is read by everybody who reads the file, and ends up in version control. */
function hasNoPassword(url: string): boolean {
  return URL.canParse(url) && new URL(url).password === "";
}

const url = z.union([
  z
    .string()
    .regex(/^postgres(ql)?:\/\//)
    .refine(hasNoPassword)
    .meta({ title: "an address postgres://user@host/database without a password, or a reference to one" }),
  secretReference,
]);

const postgres = z.strictObject({
  url: url.describe(
    "Address of the database: postgres://user@host/database. One with a password stands in a variable or a file: { env: NAME } or { file: path }.",
  ),
  schema: z
    .string()
    .regex(/^[a-z_][a-z0-9_]{0,47}$/)
    .meta({ title: "lower-case letters, digits and _ (48 characters at most)" })
    .default("sallyport")
    .describe("Schema that the tables are in; it is made when it is missing."),
  poolSize: z
    .int()
    .min(4)
    .max(1_000)
    .default(10)
    .describe(
      "Connections that one process opens at most: one for leases, one that writes, the others for reads.",
    ),
  statementTimeoutMs: positive.default(15_000).describe("How long one statement may take."),
  lockTimeoutMs: positive.default(5_000).describe("How long one statement may wait for a lock."),
  auditDays: positive
    .max(36_500)
    .default(90)
    .describe("Days after which a month of the audit record moves to `blobs`. Without `blobs` it stays."),
});

/** Where everything is kept that has to survive. */
export const storeKeys = {
  store: z
    .strictObject({
      postgres: postgres
        .optional()
        .describe(
          "Keep everything in PostgreSQL, which several processes may share. Left out: a file in the state folder.",
        ),
      leaseSeconds: positive
        .max(3_600)
        .default(15)
        .describe(
          "How long a process may be silent on a shared store before others judge its calls. It renews its lease three times as often.",
        ),
      keyEncryption: secretReference
        .optional()
        .describe(
          "32 random bytes in base64 or hex: keys are kept in the shared store, encrypted with them. Left out: you copy the key folder to every process.",
        ),
    })
    .refine(({ postgres, keyEncryption }) => postgres !== undefined || keyEncryption === undefined, {
      path: ["keyEncryption"],
      error: "needs store.postgres: on the embedded store keys are files in the state folder",
    })
    .prefault({})
    .describe("Where calls, state, approvals, grants and the audit chain are kept."),
};
