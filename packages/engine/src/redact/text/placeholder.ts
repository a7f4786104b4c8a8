/** Says that there is no secret here: a type, a missing value, the beginning of a sentence about one. */
const WORDS = new Set(
  (
    "null nil none undefined true false yes no empty unset missing required optional invalid expired revoked incorrect " +
    "wrong denied rejected redacted hidden masked unknown any never void string str text number int integer boolean bool " +
    "object array bytes buffer readonly new await async function typeof field must should is are was be not cannot can " +
    "may will the a an this that it they we you what which who if when where then and or but for from to in on of by " +
    "with as at all each one see use"
  ).split(" "),
);
const LONGEST_WORD = 9;

/** A name for a value that something else puts in, or signs that hide one. */
const REFERENCE =
  /^(?:\$\{{1,2}[^}]{0,200}\}{1,2}|\{\{[^}]{0,200}\}\}|<[\w -]{1,60}>|%[sdv]|\$[A-Z][A-Z0-9_]{2,60}|(?:process\.env|import\.meta\.env|os\.environ|secrets)\.\w{1,60}|[A-Z_]{0,40}(?:TOKEN|KEY|SECRET|PASSWORD)[A-Z_]{0,20}|[?$]\d{0,3}|[*•.]{3,}|[xX]{3,})$/;

/** Code that gets a value from elsewhere: a call, a field of something commonly used, a type, an empty list. */
const CODE =
  /^(?:[A-Za-z_]{2,40}(?:\.[A-Za-z_]{1,40}){0,6}(?:\(|\[|<)|(?:this|self|req|request|res|config|options|opts|env|props|params|args|input|ctx|context|state|settings)\??\.[\w.?]{1,80}$|\([\w, ]{0,80}\) ?=>|\[\s*\]$|\/\*)/;

/** Whether a value is plainly not the secret that its name announces. */
export function isPlaceholder(value: string): boolean {
  if (value.length <= LONGEST_WORD && WORDS.has(value.toLowerCase())) return true;
  return REFERENCE.test(value) || CODE.test(value);
}

const IDENTIFIER = /^[A-Za-z][a-z]{0,20}(?:[_-]?[A-Z]?[a-z]{1,20}){0,3}$/;

/** Whether a value is made of words, as no token that a machine made is. */
export function isWordy(value: string): boolean {
  return value.length <= 40 && IDENTIFIER.test(value);
}
