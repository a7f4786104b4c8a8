/** Names that look like secrets (CFG-ENV-01). */
export const SECRET_NAMES: readonly string[] = [
  ...["*_KEY", "*_TOKEN", "*_SECRET", "*_PASSWORD", "AWS_*", "ANTHROPIC_*", "OPENAI_*"],
  ...["*PASSWORD*", "*PASSWD*", "*_PASS", "*_PWD", "*_PAT", "*_CREDENTIAL*", "*_AUTH", "*_COOKIE", "*_DSN"],
];

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

/** Leaves out variables whose names look like secrets or tricks, and names no shell could have exported. */
export function sanitiseEnvironment(
  env: Readonly<Record<string, string | undefined>>,
  options: SanitiseOptions = {},
): Record<string, string> {
  const flags = options.caseInsensitive === false ? "" : "i";
  const denied = [...SECRET_NAMES, ...TRICK_NAMES, ...(options.denylist ?? [])];
  const patterns = denied.map((pattern) => namePattern(pattern, flags));
  const kept = Object.entries(env).filter(
    (entry): entry is [string, string] =>
      entry[1] !== undefined && isPlain(entry[0], entry[1]) && !patterns.some((one) => one.test(entry[0])),
  );
  return Object.fromEntries(kept);
}

/** An exported bash function carries `()` or `%%` in its name; a NUL would cut the value short. */
function isPlain(name: string, value: string): boolean {
  return /^[A-Za-z_][A-Za-z0-9_.-]*$/.test(name) && !value.includes("\0");
}

function namePattern(pattern: string, flags: string): RegExp {
  const escaped = pattern.replace(/[.+?^${}()|[\]\\]/g, "\\$&").replaceAll("*", ".*");
  return new RegExp(`^${escaped}$`, flags);
}
