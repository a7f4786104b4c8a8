import type { FileConflict } from "@sallyport/engine/ports";

/** A path that someone else changed under our hands. */
export class ConcurrentChangeError extends Error {
  readonly conflict: FileConflict;

  constructor(conflict: FileConflict) {
    super(`${conflict.path} was ${conflict.what}`);
    this.conflict = conflict;
  }
}
