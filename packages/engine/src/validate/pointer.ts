/** Appends one token to a JSON Pointer. */
export function pointTo(pointer: string, key: string | number): string {
  return `${pointer}/${String(key).replaceAll("~", "~0").replaceAll("/", "~1")}`;
}

/** The pointer of a `#…` reference in the one spelling pointers have here; undefined when it is malformed. */
export function fragmentPointer(reference: string): string | undefined {
  try {
    return decodeURIComponent(reference.slice(1));
  } catch {
    return undefined;
  }
}
