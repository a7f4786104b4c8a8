import { isJsonObject, type JsonObject, type JsonValue } from "@sallyport/protocol";

const SECRET_FIELD =
  /^(?:.*[_-])?(?:pass(?:words?|phrases?|wd)?|secrets?|token|api[_-]?keys?|authorization|credentials?|private[_-]?keys?|access[_-]?keys?|credit[_-]?cards?|ssn|cookies?)$/i;

/** `accessToken` is `access_token` for the pattern above. */
function isSecretField(name: string): boolean {
  return SECRET_FIELD.test(name.replaceAll(/(?<=[a-z0-9])(?=[A-Z])/g, "_"));
}

const SECRET_TEXT =
  /\b(?:eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*|sk-[\w-]{12,}|gh[pousr]_\w{20,}|AKIA[0-9A-Z]{16}|xox[abprs]-[\w-]{10,})\b|\bBearer [\w.~+/-]{8,}=*|-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g;

/** Shorter than every pattern above; most values of most calls. */
const TOO_SHORT = 15;

/** The text with anything that looks like a credential taken out. */
export function redactText(text: string): string {
  return text.length < TOO_SHORT ? text : text.replace(SECRET_TEXT, "[REDACTED]");
}

/** The value as it may be kept: secret fields and credential-like text replaced, itself when there was none. */
export function redact(value: JsonValue): JsonValue {
  if (typeof value === "string") return redactText(value);
  if (Array.isArray(value)) {
    const copy = value.map(redact);
    return copy.some((item, index) => item !== value[index]) ? copy : value;
  }
  return isJsonObject(value) ? redactFields(value) : value;
}

function redactFields(value: JsonObject): JsonObject {
  let copy: JsonObject | undefined;
  for (const key of Object.keys(value)) {
    const before = value[key] ?? null;
    const after = isSecretField(key) ? "[REDACTED]" : redact(before);
    if (after === before) continue;
    copy ??= { ...value };
    copy[key] = after;
  }
  return copy ?? value;
}
