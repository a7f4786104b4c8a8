import type { House } from "./house.ts";

const CHARS = 12;

/** A few characters that tell one moment of this house from every other. */
export function shortId({ ids }: House): string {
  return ids.next().replaceAll("-", "").slice(-CHARS);
}
