import { absentOr, described, type Field, nameText, wholeNumberText } from "../envelopes/field-reader.ts";

/** Where the last page ended. It means nothing to a client but that. */
export const cursorField: Field<string | undefined> = absentOr(
  described(nameText, "`next_cursor` of the page before; left out: the first page."),
);

/** How many entries a page has at most; 50 when left out. */
export const limitField: Field<string | undefined> = absentOr(
  described(wholeNumberText({ minimum: 1, maximum: 200 }), "Entries a page, 50 when left out."),
);

export const nextCursorField: Field<string | undefined> = absentOr(
  described(nameText, "For the next page; absent on the last."),
);
