export { type FolderBlobsOptions, openFolderBlobs } from "./folder-blobs.ts";
