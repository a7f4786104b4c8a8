/** Where the events of a server come from and go to. */
export interface PublisherPlace {
  stateFolder: string;
  /** The file they are appended to. */
  file: string;
}

/** To the thread. One `publish` at a time; a position is asked about until it is `delivered` or `refused`. */
export type ToPublisher = { kind: "publish" } | { kind: "delivered" } | { kind: "refused"; why: string };

/** From the thread. `sent`: everything up to the position is in the file, and may leave the outbox. */
export type FromPublisher =
  | { kind: "sent"; position: number }
  | { kind: "published"; count: number }
  | { kind: "failed"; why: string };
