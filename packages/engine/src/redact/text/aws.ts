import { markerOf } from "../marker.ts";
import type { TextRule } from "./rule.ts";

const KEY_ID = /(?<![A-Za-z0-9])A(?:KIA|SIA)[A-Z0-9]{16}(?![A-Za-z0-9])|\[REDACTED_AWS_KEY_ID\]/;
const FORTY = /(?<![A-Za-z0-9/+])[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+])/g;
const HEX = /^[0-9a-fA-F]+$/;

/** A secret key has no sign of its own: it is known by the key id in the same text. */
export const awsSecretKeys: TextRule = (text) => {
  if (!KEY_ID.test(text)) return text;
  return text.replace(FORTY, (run) =>
    HEX.test(run) || !/[a-z]/.test(run) || !/[A-Z]/.test(run) ? run : markerOf("AWS_SECRET_KEY"),
  );
};
