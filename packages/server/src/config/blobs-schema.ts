import { z } from "zod";
import { secretReference } from "./secret-schema.ts";

const s3 = z
  .strictObject({
    endpoint: z
      .url({ protocol: /^https?$/ })
      .describe("Address of the server, such as https://s3.eu-central-1.amazonaws.com."),
    region: z
      .string()
      .regex(/^[a-z0-9-]{1,64}$/)
      .meta({ title: "lower-case letters, digits and -" })
      .default("us-east-1")
      .describe("Region that requests are signed for."),
    bucket: z
      .string()
      .regex(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/)
      .meta({ title: "the name of a bucket: 3 to 63 lower-case letters, digits, . and -" })
      .describe("The bucket; it must exist."),
    prefix: z
      .string()
      .regex(/^([A-Za-z0-9][A-Za-z0-9_.=-]{0,127}\/){0,4}$/)
      .meta({ title: "folders with a / after each, such as sallyport/" })
      .default("")
      .describe("What all keys begin with, such as sallyport/."),
    pathStyle: z
      .boolean()
      .default(true)
      .describe("true: the bucket stands in the path. false: it stands before the host's name."),
    plainHttp: z
      .boolean()
      .default(false)
      .describe("Send signed requests and bodies to this endpoint without TLS, when it begins with http://."),
    accessKeyId: secretReference.describe("Where the id of the access key is."),
    secretAccessKey: secretReference.describe("Where its secret is."),
    sessionToken: secretReference
      .optional()
      .describe("Where the token is that belongs to a key of limited life."),
  })
  .refine(({ endpoint, plainHttp }) => plainHttp || new URL(endpoint).protocol === "https:", {
    path: ["endpoint"],
    message: "has no TLS: use https, or set plainHttp for it",
  });

/** Where large bodies are kept. */
export const blobKeys = {
  blobs: z
    .strictObject({
      folder: z
        .string()
        .min(1)
        .optional()
        .describe("A folder, relative to this file; processes on one machine may share it."),
      s3: s3.optional().describe("A bucket of an S3-compatible server. Needs the package aws4fetch."),
    })
    .refine(({ folder, s3 }) => (folder === undefined) !== (s3 === undefined), {
      message: "needs either folder or s3",
    })
    .optional()
    .describe("Where large bodies are kept: archives and long output. Left out: in the state folder."),
};
