import { markerOf } from "../marker.ts";
import { BASE64_CHARS, changeRuns, charSet, type RunShape } from "./long-run.ts";
import type { TextRule } from "./rule.ts";

const KEY_ID_SIGNS = ["AKIA", "ASIA", markerOf("AWS_KEY_ID")];
const LENGTH = 40;
const SECRET_KEY: RunShape = { set: charSet(BASE64_CHARS), shortest: LENGTH };
const HEX = /^[0-9a-fA-F]+$/;

/** A secret key has no sign of its own: it is known by the key id in the same text. */
export const awsSecretKeys: TextRule = (text) => {
  if (!KEY_ID_SIGNS.some((sign) => text.includes(sign))) return text;
  return changeRuns(text, SECRET_KEY, (run) => (isSecretKey(run) ? markerOf("AWS_SECRET_KEY") : run));
};

function isSecretKey(run: string): boolean {
  return run.length === LENGTH && !HEX.test(run) && /[a-z]/.test(run) && /[A-Z]/.test(run);
}
