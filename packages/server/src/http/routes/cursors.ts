import type { ListPlace } from "@sallyport/engine/ports";
import { SallyportError } from "@sallyport/protocol";
import { malformed } from "./malformed.ts";

/**
 * Cursors of one list: places in it, as text that means nothing to a client. Whoever makes one up learns nothing by it: a
 * page holds only what its reader may see, wherever it begins.
 */
class Cursors {
  readonly #list: string;

  constructor(list: string) {
    this.#list = list;
  }

  encode({ at, id }: ListPlace): string {
    return Buffer.from(JSON.stringify([this.#list, at, id])).toString("base64url");
  }

  /** Throws E3903 for a text that is no cursor of this list. */
  read(cursor: string): ListPlace {
    const place = placeOf(Buffer.from(cursor, "base64url").toString());
    if (place && this.encode(place) === cursor) return place;
    const suggestion = "Send next_cursor as it came, or begin anew without a cursor.";
    throw new SallyportError(malformed("query/cursor", "is not a cursor that this list gave", suggestion));
  }
}

export const CALL_CURSORS = new Cursors("calls");
export const APPROVAL_CURSORS = new Cursors("approvals");

function placeOf(text: string): ListPlace | undefined {
  try {
    const [, at, id]: unknown[] = JSON.parse(text);
    return typeof at === "number" && typeof id === "string" ? { at, id } : undefined;
  } catch {
    return undefined;
  }
}
