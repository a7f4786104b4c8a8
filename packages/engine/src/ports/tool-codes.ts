import type { ErrorCode } from "@sallyport/protocol";

/** What a tool may say went wrong; every other code is the engine's to give. */
export const TOOL_CODES = [
  "E3901",
  "E3907",
  "E3951",
  "E3952",
  "E3955",
  "E3956",
  "E3957",
] as const satisfies readonly ErrorCode[];
export type ToolCode = (typeof TOOL_CODES)[number];

export function isToolCode(value: unknown): value is ToolCode {
  return TOOL_CODES.some((code) => code === value);
}
