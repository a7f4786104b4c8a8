import { blobsContract } from "../testing/blobs-contract.ts";
import { createMemoryBlobs } from "./blobs.ts";

blobsContract("blobs in memory", async () => ({
  blobs: createMemoryBlobs(),
  [Symbol.asyncDispose]: async () => undefined,
}));
