/** The process's environment, or what stands for it. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Told about a variable that cannot be used as it is. Values are left out: they may hold secrets. */
export type Warn = (message: string) => void;

/** A variable's value; an empty one counts as not set. */
export function textOf(env: Environment, name: string): string | undefined {
  return env[name]?.trim() || undefined;
}

/** The first of these that is set: the one for a single signal goes before the one for all. */
export function firstOf(env: Environment, names: readonly string[]): string | undefined {
  return names.map((name) => textOf(env, name)).find((value) => value !== undefined);
}

/** Only "true", in any case, is true. */
export function isTrue(env: Environment, name: string): boolean {
  return textOf(env, name)?.toLowerCase() === "true";
}

/** A whole number above zero; anything else is said, and the default holds. */
export function countOf(env: Environment, name: string, { otherwise, warn }: CountOptions): number {
  const text = textOf(env, name);
  if (text === undefined) return otherwise;
  const count = Number(text);
  if (Number.isSafeInteger(count) && count > 0) return count;
  warn(`${name} is not a whole number above zero; ${otherwise} is used.`);
  return otherwise;
}

interface CountOptions {
  otherwise: number;
  warn: Warn;
}

/** `key=value,key=value` with percent-encoded parts. Nothing of it counts when one part cannot be read. */
export function pairsOf(env: Environment, name: string, warn: Warn): Record<string, string> {
  const parts = (textOf(env, name) ?? "").split(",").filter((part) => part.trim() !== "");
  try {
    return Object.fromEntries(parts.map(pairOf));
  } catch {
    warn(`${name} is not a list like key=value,key=value with percent-encoded parts; it is ignored.`);
    return {};
  }
}

function pairOf(part: string): [string, string] {
  const at = part.indexOf("=");
  const key = decodeURIComponent(part.slice(0, at).trim());
  if (at < 1 || key === "") throw new URIError("no key");
  return [key, decodeURIComponent(part.slice(at + 1).trim())];
}
