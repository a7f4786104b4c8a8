import { markerOf } from "../marker.ts";
import type { TextRule } from "./rule.ts";

const KEY_ID_SIGNS = ["AKIA", "ASIA", markerOf("AWS_KEY_ID")];
const FORTY = /(?<![A-Za-z0-9/+])[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+])/g;
const HEX = /^[0-9a-fA-F]+$/;

/** A secret key has no sign of its own: it is known by the key id in the same text. */
export const awsSecretKeys: TextRule = (text) => {
  if (!KEY_ID_SIGNS.some((sign) => text.includes(sign))) return text;
  return text.replace(FORTY, (run) =>
    HEX.test(run) || !/[a-z]/.test(run) || !/[A-Z]/.test(run) ? run : markerOf("AWS_SECRET_KEY"),
  );
};
