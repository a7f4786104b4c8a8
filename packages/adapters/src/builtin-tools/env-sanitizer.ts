import { sanitiseEnvironment } from "../sandbox/environment/index.ts";

/** Takes out of an environment what a command must not inherit (FR-EXE-06). */
export interface EnvSanitizer {
  clean(env: Readonly<Record<string, string | undefined>>): Record<string, string>;
}

/** Places of the host, which mean nothing inside a sandbox or lead a program out of what it may write. */
const HOST_PLACES = ["HOME", "TMPDIR", "TMP", "TEMP", "PWD", "OLDPWD", "XDG_*"];

/**
 * Makes one. The patterns given (`*` for any characters) add to those of the sandbox: names that look like
 * secrets, `AWS_*`, `ANTHROPIC_*`, `OPENAI_*`, and names that make a program load something else (CFG-ENV-01). Case
 * never matters: a secret in small letters is one too, on every system.
 */
export function createEnvSanitizer(denylist: readonly string[] = []): EnvSanitizer {
  const options = { denylist: [...HOST_PLACES, ...denylist], caseInsensitive: true };
  return { clean: (env) => sanitiseEnvironment(env, options) };
}
