/** A moment as the API writes it. */
export function iso(at: number): string {
  return new Date(at).toISOString();
}

/** The same, where there may be none. */
export function isoIfAny(at: number | undefined): string | undefined {
  return at === undefined ? undefined : iso(at);
}
