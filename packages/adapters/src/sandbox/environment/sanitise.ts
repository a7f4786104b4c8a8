import { createRedactor } from "@sallyport/engine";

const { redactText } = createRedactor({ profile: "secrets" });

/** A name and password before a host, as proxies are sometimes given, without the scheme that would give them away. */
const BARE_PROXY =
  /^[^\s:@/]{1,200}:[^\s@/]{1,200}@(?:[\w.-]{1,250}:\d{1,5}|[\w-]{1,63}(?:\.[\w-]{1,63}){1,8})$/;

/** Guesses that would take a path with a digest in it, or a number, for a secret. */
const GUESSES = new Set(["[REDACTED_API_KEY]", "[REDACTED_CARD]", "[REDACTED_SSN]"]);

/**
 * Whether a value has a credential in it, whatever it is called: a password in an address, a token of a known form, a
 * private key, `Password=…` in a connection string.
 */
function holdsCredential(value: string): boolean {
  if (BARE_PROXY.test(value)) return true;
  const shown = redactText(value);
  if (shown === value) return false;
  return shown.match(/\[REDACTED(?:_[A-Z0-9_]+)?\]/g)?.some((marker) => !GUESSES.has(marker)) ?? true;
}

/** Names that look like secrets (CFG-ENV-01), with `*` for any characters. A word for one counts wherever it stands. */
export const SECRET_NAMES: readonly string[] = [
  ...["AWS_*", "ANTHROPIC_*", "OPENAI_*"],
  ...["*TOKEN*", "*SECRET*", "*PASSWORD*", "*PASSWD*", "*PASSPHRASE*", "*PASSCODE*", "*CREDENTIAL*"],
  // `KEY` alone is part of too many words: KEYBOARD, MONKEY.
  ...["KEY", "KEYS", "*_KEY", "*_KEYS", "*_KEY_*", "*APIKEY*", "*API_KEY*", "*ACCESSKEY*"],
  ...["*PRIVATE*KEY*", "*SIGNING*KEY*", "*ENCRYPTION*KEY*", "*MASTER*KEY*"],
  ...["PASS", "*_PASS", "*_PASS_*", "*_PWD", "*_PWD_*", "*_PAT", "*_PAT_*", "CREDS", "*_CRED", "*_CREDS"],
  ...["*_AUTH", "*AUTH_HEADER*", "*AUTHORIZATION*", "*COOKIE*", "*JWT*", "*BEARER*", "*_OTP"],
  ...["DSN", "*_DSN", "*CONNECTION_STRING*", "*CONNSTR*", "*WEBHOOK*", "*MNEMONIC*", "*SEED_PHRASE*"],
];

/** Names that a pattern above takes for a secret though they are a setting of a common program. */
const HARMLESS_NAMES: ReadonlySet<string> = new Set(["TOKENIZERS_PARALLELISM"]);

/** Names that make a loader, an interpreter or git run or trust something else, or lead to an agent of the user's. */
export const TRICK_NAMES: readonly string[] = [
  ...[
    "LD_*",
    "DYLD_*",
    "GLIBC_TUNABLES",
    "GCONV_PATH",
    "NLSPATH",
    "LOCPATH",
    "HOSTALIASES",
    "RESOLV_HOST_CONF",
  ],
  ...[
    "NODE_OPTIONS",
    "NODE_PATH",
    "NODE_EXTRA_CA_CERTS",
    "NODE_TLS_REJECT_UNAUTHORIZED",
    "NODE_REPL_EXTERNAL_MODULE",
  ],
  ...[
    "BASH_ENV",
    "ENV",
    "BASH_FUNC_*",
    "SHELLOPTS",
    "BASHOPTS",
    "PROMPT_COMMAND",
    "PS4",
    "IFS",
    "CDPATH",
    "GLOBIGNORE",
  ],
  ...["PYTHONSTARTUP", "PYTHONPATH", "PYTHONHOME", "PYTHONINSPECT", "PYTHONUSERBASE", "PYTHONBREAKPOINT"],
  ...[
    "PERL5OPT",
    "PERL5LIB",
    "PERL5DB",
    "PERLLIB",
    "RUBYOPT",
    "RUBYLIB",
    "LUA_INIT*",
    "PHPRC",
    "PHP_INI_SCAN_DIR",
  ],
  ...[
    "JAVA_TOOL_OPTIONS",
    "_JAVA_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "CLASSPATH",
    "NPM_CONFIG_*",
    "LESSOPEN",
    "LESSCLOSE",
  ],
  ...["GIT_*", "SSH_*", "GPG_AGENT_INFO", "DBUS_*", "XDG_RUNTIME_DIR", "DOCKER_*", "KUBECONFIG"],
  ...["SSL_CERT_FILE", "SSL_CERT_DIR", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "CURL_HOME", "WGETRC"],
];

export interface SanitiseOptions {
  /** More names, with `*` for any characters; they add to the built-in ones and cannot take any away. */
  denylist?: readonly string[];
  /** Off only where names that differ in case must be told apart. */
  caseInsensitive?: boolean;
}

/** Leaves out variables whose names look like secrets or tricks, whose values hold one, and names no shell could export. */
export function sanitiseEnvironment(
  env: Readonly<Record<string, string | undefined>>,
  options: SanitiseOptions = {},
): Record<string, string> {
  const flags = options.caseInsensitive === false ? "" : "i";
  const isSecret = nameTest(SECRET_NAMES, flags);
  const isDenied = nameTest([...TRICK_NAMES, ...(options.denylist ?? [])], flags);
  const mayStay = (name: string) => !isDenied(name) && (HARMLESS_NAMES.has(name) || !isSecret(name));
  const kept = Object.entries(env).filter(
    (entry): entry is [string, string] =>
      entry[1] !== undefined &&
      isPlain(entry[0], entry[1]) &&
      mayStay(entry[0]) &&
      !holdsCredential(entry[1]),
  );
  return Object.fromEntries(kept);
}

function nameTest(patterns: readonly string[], flags: string): (name: string) => boolean {
  const tests = patterns.map((pattern) => namePattern(pattern, flags));
  return (name) => tests.some((test) => test.test(name));
}

/** An exported bash function carries `()` or `%%` in its name; a NUL would cut the value short. */
function isPlain(name: string, value: string): boolean {
  return /^[A-Za-z_][A-Za-z0-9_.-]*$/.test(name) && !value.includes("\0");
}

function namePattern(pattern: string, flags: string): RegExp {
  const escaped = pattern.replace(/[.+?^${}()|[\]\\]/g, "\\$&").replaceAll("*", ".*");
  return new RegExp(`^${escaped}$`, flags);
}
