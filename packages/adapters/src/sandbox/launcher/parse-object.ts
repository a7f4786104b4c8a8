export type Fields = Record<string, unknown>;

/** The object that a line of JSON holds; undefined for anything else, which is for the caller to judge. */
export function parseObject(line: Buffer): Fields | undefined {
  try {
    const value: unknown = JSON.parse(line.toString("utf8"));
    return typeof value === "object" && value !== null ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}
