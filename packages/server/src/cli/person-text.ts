import { InvalidArgumentError } from "commander";

const MAX_NAME = 200;
const MAX_WORDS = 1_000;

/** The name of a person who answers or decides. */
export function personName(text: string): string {
  return bounded(text, MAX_NAME);
}

/** What a person says for the record: a reason, a comment, a note. */
export function personWords(text: string): string {
  return bounded(text, MAX_WORDS);
}

function bounded(text: string, max: number): string {
  const trimmed = text.trim();
  if (trimmed.length > 0 && trimmed.length <= max && trimmed.isWellFormed()) return trimmed;
  throw new InvalidArgumentError(`1 to ${max} characters that are not all blank`);
}
