import { type Field, simple } from "./field.ts";

/**
 * Fields for what comes as text only, such as the query of an address. Their schemas speak of the value that the text
 * stands for, as descriptions of queries do.
 */

/** A whole number in decimal digits, such as `50`. */
export function wholeNumberText({ minimum, maximum }: { minimum: number; maximum: number }): Field<string> {
  return simple(
    `a whole number from ${minimum} to ${maximum}`,
    { type: "integer", minimum, maximum },
    (value): value is string =>
      typeof value === "string" && DIGITS.test(value) && Number(value) >= minimum && Number(value) <= maximum,
  );
}

const DIGITS = /^(?:0|[1-9]\d{0,15})$/;

const LIST = /^[^,]+(?:,[^,]+)*$/u;
const MAX_LIST = 2_000;

/** Words with commas between them, such as `math,text`. */
export const wordList: Field<string> = simple(
  "words with commas between them",
  { type: "array", items: { type: "string", minLength: 1 }, minItems: 1 },
  (value): value is string => typeof value === "string" && value.length <= MAX_LIST && LIST.test(value),
);
