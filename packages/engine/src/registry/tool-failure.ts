import type { ToolCode } from "../ports/tool-codes.ts";

export type { ToolCode } from "../ports/tool-codes.ts";

/** Thrown by a tool that knows which entry of the catalogue its failure is. Any other exception is E3907. */
export class ToolFailure extends Error {
  /** An own property, because an error that crosses a thread keeps only those. */
  readonly toolCode: ToolCode;

  constructor(code: ToolCode, message: string) {
    super(message);
    this.name = "ToolFailure";
    this.toolCode = code;
  }
}
