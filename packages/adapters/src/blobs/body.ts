import { type BlobSource, MAX_BLOB_BYTES } from "@sallyport/engine/ports";
import { failure, SallyportError } from "@sallyport/protocol";

/** The pieces of a body. Throws E3949 when they are more than `maxBytes` together. */
export async function* boundedPieces(
  source: BlobSource,
  maxBytes: number = MAX_BLOB_BYTES,
): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  for await (const piece of source instanceof Uint8Array ? [source] : source) {
    bytes += piece.byteLength;
    if (bytes > maxBytes)
      throw blobFailure(`The blob is larger than ${maxBytes} bytes.`, "Split it; nothing was kept.");
    yield piece;
  }
}

/** E3949. Causes are not passed on: a driver's error can hold a credential. */
export function blobFailure(message: string, advice?: string): SallyportError {
  return new SallyportError(failure("E3949", { message, ...(advice !== undefined && { advice }) }));
}
