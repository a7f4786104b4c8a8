import { createHash } from "node:crypto";

const LONGEST_NAME = 64;
const DIGITS = [8, 16, 32, 63] as const;

/** A tool and one of its operations. */
export interface Nameable {
  tool: string;
  operation: string;
  /** More than one operation: then the name says which. */
  isOneOfSeveral: boolean;
}

/**
 * Gives every operation a name providers take: letters, digits, `_` and `-`, at most 64, a letter or `_` first. Names
 * do not depend on the order of the list. Where two would be alike, the one that is so by nature keeps it and the
 * others end in a piece of a hash; names in `taken` are nobody's, so no tool can pass itself off as one of those.
 */
export function namesFor<T extends Nameable>(
  items: readonly T[],
  taken: Iterable<string> = [],
): Map<T, string> {
  const wishes = new Map<string, T[]>();
  for (const item of items) {
    const wish = providerSafe(plainName(item));
    wishes.set(wish, [...(wishes.get(wish) ?? []), item]);
  }
  const names = new Map<T, string>();
  const used = new Set(taken);
  const others: T[] = [];
  for (const [wish, rivals] of wishes) {
    const winner = used.has(wish) ? undefined : winnerOf(wish, rivals);
    if (winner) names.set(winner, wish);
    others.push(...rivals.filter((item) => item !== winner));
  }
  for (const name of names.values()) used.add(name);
  for (const item of others) names.set(item, distinguished(item, used));
  return names;
}

function plainName({ tool, operation, isOneOfSeveral }: Nameable): string {
  return isOneOfSeveral ? `${tool}__${operation}` : tool;
}

function providerSafe(name: string): string {
  const safe = name.replaceAll(/[^A-Za-z0-9_-]/g, "_");
  return /^[A-Za-z_]/.test(safe) ? safe : `_${safe}`;
}

function winnerOf<T extends Nameable>(wish: string, rivals: readonly T[]): T | undefined {
  if (wish.length > LONGEST_NAME) return undefined;
  if (rivals.length === 1) return rivals[0];
  const natural = rivals.filter((item) => plainName(item) === wish);
  return natural.length === 1 ? natural[0] : undefined;
}

function distinguished(item: Nameable, used: Set<string>): string {
  const hash = createHash("sha256").update(`${item.tool}\0${item.operation}`).digest("hex");
  const base = providerSafe(plainName(item));
  const free = DIGITS.map((digits) => shortened(base, hash.slice(0, digits))).find((name) => !used.has(name));
  const name = free ?? `_${hash.slice(0, LONGEST_NAME - 1)}`;
  used.add(name);
  return name;
}

function shortened(base: string, hash: string): string {
  return `${base.slice(0, LONGEST_NAME - 1 - hash.length)}_${hash}`;
}
