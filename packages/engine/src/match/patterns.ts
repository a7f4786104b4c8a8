/** Whether a name equals one of the patterns, where `*` stands for any run of characters. Linear in the name. */
export function matchesAny(patterns: readonly string[], name: string): boolean {
  return patterns.some((pattern) => pattern === "*" || pattern === name || compilePattern(pattern)(name));
}

/** `matchesAny` for patterns that are asked about often: the work on the patterns is done once. */
export function compilePatterns(patterns: readonly string[]): (name: string) => boolean {
  if (patterns.includes("*")) return () => true;
  const exact = new Set(patterns.filter((pattern) => !pattern.includes("*")));
  const open = patterns.filter((pattern) => pattern.includes("*")).map(compilePattern);
  if (open.length === 0) return (name) => exact.has(name);
  return (name) => exact.has(name) || open.some((matches) => matches(name));
}

function compilePattern(pattern: string): (name: string) => boolean {
  const parts = pattern.split("*");
  if (parts.length === 1) return (name) => name === pattern;
  const first = parts[0] ?? "";
  const last = parts[parts.length - 1] ?? "";
  const middle = parts.slice(1, -1);
  if (middle.length === 0 && last === "") return (name) => name.startsWith(first);
  return (name) => {
    if (!name.startsWith(first) || !name.endsWith(last) || name.length < first.length + last.length)
      return false;
    return inOrder(middle, name, { from: first.length, end: name.length - last.length });
  };
}

function inOrder(parts: readonly string[], name: string, { from, end }: { from: number; end: number }) {
  let at = from;
  for (const part of parts) {
    const found = name.indexOf(part, at);
    if (found === -1 || found + part.length > end) return false;
    at = found + part.length;
  }
  return true;
}
