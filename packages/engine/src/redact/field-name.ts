/** What the name of a field says about its value. */
export type FieldKind = "ordinary" | "secret" | "secret_unless_number";

/** Judges names of fields. Never fails: a name it does not know is ordinary. */
export type FieldJudge = (name: string) => FieldKind;

const KEY_KINDS =
  "api|access|private|secret|sign(?:ing|ature)?|(?:en|de)cryption|master|shared|account|storage|hmac|aes|auth|session|subscription|licen[cs]e|deploy|webhook|symmetric|application";

/** May follow any other letters: `dbpassword`, `xapikey`. */
const NOUNS = [
  "pass ?(?:words?|phrases?|codes?)(?: (?:hash(?:es|ed)?|digest|salt))?",
  "passwds?|pwds?|secrets?|tokens?|credentials?|cookies?|bearer|mnemonics?",
  `(?:${KEY_KINDS}) ?keys?(?: ids?)?`,
  "authori[sz]ations?|auth ?headers?",
  "connection ?strings?|conn ?strs?",
  "(?:credit|debit|payment) ?cards?(?: ?(?:numbers?|nums?|nos?))?|card ?(?:numbers?|nums?|nos?)",
  "sess(?:ion)? ?ids?",
  "(?:security|verification|one ?time|recovery|backup|auth(?:entication|orization)?|mfa|2fa) ?codes?",
  "social ?security(?: ?(?:numbers?|nums?|nos?))?|(?:seed|recovery) ?phrases?",
].join("|");

/** Parts of ordinary words (`compass`, `spin`), so they must stand alone. */
const SHORT_NOUNS =
  "pass|pass ?wd|creds?|pins?(?: ?(?:codes?|numbers?))?|t?otps?(?: codes?)?|ssns?|cv[vc]s?2?|jwts?|csrf|xsrf";

const QUALITIES =
  "values?|text|plain(?:text)?|raw|string|binary|confirm(?:ation|ed)?|again|repeat(?:ed)?|new|old|current|base64|b64|pem|hex|encrypted|header";

const SECRET = new RegExp(
  `(?:${NOUNS}|(?<![a-z])(?:${SHORT_NOUNS})|^sid)(?: (?:${QUALITIES}))?(?: ?\\d{1,3})?$`,
);

/** Something of every name that `SECRET` can match; most names have none of it. */
const HINT =
  /pass|pwd|secret|token|key|auth|cred|card|cv[vc]|ssn|pin|otp|cookie|sess|sid|jwt|srf|bearer|mnemonic|phrase|code|conn|security/i;

/** Amounts of text, cursors and pieces of grammar, which are called tokens as well. */
const HARMLESS_TOKEN =
  /(?:^| )(?:(?:max|min|num|number|count|per|next|page|continuation|unexpected|pad|eos|bos|unk|mask|sep|cls|stop|start|special|design) tokens?|(?:maximum|minimum|n|total|input|output|prompt|completion|reasoning|thinking|cached?|read|write|creation|used|remaining|estimated|generated|new|context|audio|image|text|color) tokens)$/;

/** Names that a number makes harmless: so many tokens, so many tests that pass. */
const COUNTABLE = /(?:^| )(?:tokens|pass)$/;

const SHORTEST_NAME = 3;
/** The pattern looks at the end of a name only. */
const LOOKED_AT = 96;

/** A marker in a name says what was there, not what the field holds. */
const MARKERS = /\[?REDACTED_[A-Z0-9_]+\]?/g;

/** `dbPassword`, `DB_PASSWORD`, `db-password` and `db.password` are all `db password`. */
function spaced(name: string): string {
  return name
    .slice(-LOOKED_AT)
    .replaceAll(MARKERS, " ")
    .replaceAll(/([a-z0-9])([A-Z])/g, "$1 $2")
    .replaceAll(/([A-Z])([A-Z][a-z])/g, "$1 $2")
    .replaceAll(/[^A-Za-z0-9]+/g, " ")
    .trim()
    .toLowerCase();
}

function judge(name: string): FieldKind {
  if (name.length < SHORTEST_NAME || !HINT.test(name)) return "ordinary";
  const words = spaced(name);
  if (!SECRET.test(words) || HARMLESS_TOKEN.test(words)) return "ordinary";
  return COUNTABLE.test(words) ? "secret_unless_number" : "secret";
}

/** Judges by the names every installation knows, and by more of its own, written in any case and with any separator. */
export function fieldJudge(extraFields: readonly string[] = []): FieldJudge {
  if (extraFields.length === 0) return judge;
  const extra = new Set(extraFields.map((name) => compact(spaced(name))));
  extra.delete("");
  return (name) => (endsWithOneOf(extra, spaced(name)) ? "secret" : judge(name));
}

function compact(words: string): string {
  return words.replaceAll(" ", "");
}

function endsWithOneOf(names: ReadonlySet<string>, words: string): boolean {
  const parts = words.split(" ");
  return parts.some((_, from) => names.has(parts.slice(from).join("")));
}
