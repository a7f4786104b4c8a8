/** Header names and values in turn, as they came. */
export type RawHeaders = readonly string[];

/** About one connection, not about the message: they end at the proxy. */
const HOP_BY_HOP = [
  "connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
];

/** All headers but those of the connection, those that `Connection` names, and those in `more`. */
export function endToEnd(raw: RawHeaders, more: readonly string[]): string[] {
  const dropped = new Set([...HOP_BY_HOP, ...more, ...valuesOf(raw, "connection").flatMap(listed)]);
  return pairs(raw)
    .filter(([name]) => !dropped.has(name.toLowerCase()))
    .flat();
}

/** Each value of a header, in order. */
export function valuesOf(raw: RawHeaders, wanted: string): string[] {
  return pairs(raw)
    .filter(([name]) => name.toLowerCase() === wanted)
    .map(([, value]) => value);
}

/** The members of a comma-separated value, in lower case. */
export function listed(value: string): string[] {
  return value
    .toLowerCase()
    .split(",")
    .map((member) => member.trim())
    .filter((member) => member !== "");
}

/** As lines of a head; the names and values must be such as a strict parser lets through. */
export function headerLines(raw: RawHeaders): string {
  return pairs(raw)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join("");
}

function pairs(raw: RawHeaders): [name: string, value: string][] {
  return Array.from({ length: Math.floor(raw.length / 2) }, (_, at) => [
    raw[at * 2] ?? "",
    raw[at * 2 + 1] ?? "",
  ]);
}
