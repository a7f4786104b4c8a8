/** Whether the caller prefers not to wait (RFC 7240). */
export function prefersAsync(prefer: string | undefined): boolean {
  const wishes = prefer?.split(",") ?? [];
  return wishes.some((wish) => wish.split(";")[0]?.trim().toLowerCase() === "respond-async");
}
