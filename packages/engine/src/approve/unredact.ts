import { isJsonObject, type JsonValue } from "@sallyport/protocol";

/** The arguments as they are, and as they were shown, secrets redacted. */
interface Both {
  real: JsonValue;
  shown: JsonValue;
}

/**
 * Arguments a person has changed, who was shown them redacted: what was left as it was shown means what it really is.
 */
export function unredacted(edited: JsonValue, { real, shown }: Both): JsonValue {
  if (edited === shown) return real;
  if (Array.isArray(edited) && Array.isArray(real) && Array.isArray(shown)) {
    return edited.map((item, index) => within(item, real[index], shown[index]));
  }
  if (isJsonObject(edited) && isJsonObject(real) && isJsonObject(shown)) {
    const entries = Object.entries(edited).map(([key, value]) => {
      const known = Object.hasOwn(real, key) && Object.hasOwn(shown, key);
      return [key, known ? within(value, real[key], shown[key]) : value] as const;
    });
    return Object.fromEntries(entries);
  }
  return edited;
}

function within(edited: JsonValue, real: JsonValue | undefined, shown: JsonValue | undefined): JsonValue {
  return real === undefined || shown === undefined ? edited : unredacted(edited, { real, shown });
}
