/** True when every name the pattern `asked` stands for is also one of `bound`. */
export function coversHost(bound: string, asked: string): boolean {
  const [outer, inner] = [plainHost(bound), plainHost(asked)];
  if (outer === "*" || outer === inner) return true;
  if (!outer.startsWith("*.")) return false;
  const suffix = outer.slice(1);
  const name = inner.startsWith("*.") ? inner.slice(1) : inner;
  return name.endsWith(suffix) && inner !== "*";
}

function plainHost(host: string): string {
  return host.toLowerCase().replace(/\.$/, "");
}
