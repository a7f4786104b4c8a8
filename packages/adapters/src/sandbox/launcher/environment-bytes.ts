/**
 * An environment as the launcher reads it: each variable ended by NUL. Throws TypeError for a name or value that would
 * come out as something else.
 */
export function environmentBytes(env: Readonly<Record<string, string>>): Buffer {
  const variables = Object.entries(env).map(([name, value]) => {
    if (name === "" || /[=\0]/.test(name) || value.includes("\0")) {
      throw new TypeError(`the environment variable ${JSON.stringify(name)} cannot be passed on`);
    }
    return `${name}=${value}\0`;
  });
  return Buffer.from(variables.join(""), "utf8");
}
