export { type FolderBlobsOptions, openFolderBlobs } from "./folder-blobs.ts";
export { openS3Blobs, type S3BlobsOptions } from "./s3-blobs.ts";
export type { S3ClientOptions, S3Credentials } from "./s3-client.ts";
