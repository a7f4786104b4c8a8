/** What went wrong between Sallyport and a provider. */
export type TroubleKind =
  /** The provider answered with an error, by HTTP status or inside its stream. */
  | "refused"
  /** No connection, or one that broke. */
  | "connection"
  /** Nothing came for too long. */
  | "timeout"
  /** What came is not the provider's protocol. */
  | "protocol"
  /** The answer ended before it was finished. */
  | "cut"
  | "aborted"
  | "unknown";

/** Found by Sallyport's own look at the traffic, and thrown through the provider's code, which may wrap it. */
export class ModelTrouble extends Error {
  readonly kind: TroubleKind;

  constructor(kind: TroubleKind, message: string) {
    super(message);
    this.name = "ModelTrouble";
    this.kind = kind;
  }
}
