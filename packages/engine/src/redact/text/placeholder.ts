/** Says that there is no secret here: a type, a missing value, the beginning of a sentence about one. */
const WORDS = new Set(
  (
    "null nil none undefined true false yes no empty unset missing required optional invalid expired revoked incorrect " +
    "wrong denied rejected redacted hidden masked unknown any never void string str text number int integer boolean bool " +
    "object array bytes buffer must should is are was not cannot can the a an field"
  ).split(" "),
);
const LONGEST_WORD = 9;

/** A name for a value that something else puts in, or signs that hide one. */
const REFERENCE =
  /^(?:\$\{{1,2}[^}]{0,200}\}{1,2}|\{\{[^}]{0,200}\}\}|<[\w -]{1,60}>|%[sdv]|\$[A-Z][A-Z0-9_]{2,60}|(?:process\.env|import\.meta\.env|os\.environ|secrets)\.\w{1,60}|[*•.x]{3,})$/i;

/** Whether a value is plainly not the secret that its name announces. */
export function isPlaceholder(value: string): boolean {
  return (value.length <= LONGEST_WORD && WORDS.has(value.toLowerCase())) || REFERENCE.test(value);
}
