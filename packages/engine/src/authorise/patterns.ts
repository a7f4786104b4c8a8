/** Whether a name equals one of the patterns, where `*` stands for any run of characters. Linear in the name. */
export function matchesAny(patterns: readonly string[], name: string): boolean {
  return patterns.some((pattern) => pattern === "*" || pattern === name || matches(pattern, name));
}

function matches(pattern: string, name: string): boolean {
  const parts = pattern.split("*");
  if (parts.length === 1) return false;
  const first = parts[0] ?? "";
  const last = parts[parts.length - 1] ?? "";
  if (!name.startsWith(first) || !name.endsWith(last) || name.length < first.length + last.length)
    return false;
  let from = first.length;
  const end = name.length - last.length;
  for (const part of parts.slice(1, -1)) {
    const found = name.indexOf(part, from);
    if (found === -1 || found + part.length > end) return false;
    from = found + part.length;
  }
  return from <= end;
}
