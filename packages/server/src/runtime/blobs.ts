import { randomUUID } from "node:crypto";
import { resolve } from "node:path";
import { text } from "node:stream/consumers";
import { openFolderBlobs, openS3Blobs } from "@sallyport/adapters/blobs";
import type { Blobs } from "@sallyport/engine/ports";
import { failure, SallyportError } from "@sallyport/protocol";
import type { LoadedConfig } from "../config/load.ts";
import { requireSecret, type SecretReference } from "./configured-secrets.ts";

type BlobSettings = Pick<LoadedConfig, "blobs" | "folder">;

/**
 * The configured place for large bodies; undefined when there is none. Nothing is made, read or connected before its
 * first use. Throws E3919 when its settings cannot be used.
 */
export function openBlobs({ blobs, folder }: BlobSettings): Blobs | undefined {
  if (blobs?.folder !== undefined) return openFolderBlobs({ folder: resolve(folder, blobs.folder) });
  if (!blobs?.s3) return undefined;
  const { accessKeyId, secretAccessKey, sessionToken, ...place } = blobs.s3;
  const secret = (reference: SecretReference) => requireSecret(reference, { folder, need: "blobs.s3 names" });
  return openS3Blobs({
    ...place,
    credentials: () => ({
      accessKeyId: secret(accessKeyId),
      secretAccessKey: secret(secretAccessKey),
      ...(sessionToken && { sessionToken: secret(sessionToken) }),
    }),
  });
}

/** The place in words, for people; names no secret. */
export function blobsName({ blobs, folder }: BlobSettings): string {
  if (blobs?.folder !== undefined) return resolve(folder, blobs.folder);
  if (!blobs?.s3) return "none";
  const { endpoint, bucket, prefix } = blobs.s3;
  return `bucket ${bucket} at ${new URL(endpoint).host}${prefix && `, below ${prefix}`}`;
}

/** Puts, reads and removes a small blob. Rejects with the reason when one of them fails. */
export async function probeBlobs(blobs: Blobs): Promise<void> {
  const [name, body] = [`probe/${randomUUID()}.txt`, randomUUID()];
  await blobs.put(name, new TextEncoder().encode(body), { contentType: "text/plain" });
  try {
    const stream = await blobs.get(name);
    if (stream && (await text(stream)) === body) return;
    throw new SallyportError(
      failure("E3949", { message: "A blob that was put is not there, or is another." }),
    );
  } finally {
    await blobs.delete(name);
  }
}
