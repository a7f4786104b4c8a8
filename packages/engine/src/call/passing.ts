import { entryOf, type Failure } from "@sallyport/protocol";

/** The policy or the store could not be asked. */
const UNASKED: ReadonlySet<string> = new Set(["E3206", "E3908", "E3914"]);

/** A refusal that says nothing about the call itself: what was said about it before outlives it. */
export function isPassing(error: Failure): boolean {
  return entryOf(error).failureClass === "ResourceError" || UNASKED.has(error.code);
}
