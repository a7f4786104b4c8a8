import type { Failure, FileEffects, JsonValue } from "@sallyport/protocol";

/** A tool as the loop offers it to a model. The engine's tool behind it is what runs. */
export interface LoopTool {
  /** What the model calls it: letters, digits, `_` and `-`, at most 64. */
  name: string;
  description: string;
  /** JSON Schema 2020-12 of its arguments. */
  inputSchema: JsonValue;
  sideEffects: boolean;
  /** The engine's tool and operation. */
  tool: string;
  version?: string;
  operation?: string;
  /** `default`: it states no time limit of its own, so the loop's counts (FR-EXE-03). Left out: its own. */
  timeout?: "own" | "default";
  /** Looks, before anybody is asked, whether the call could run at all, such as whether its paths are allowed. */
  preflight?(input: JsonValue, conversationId: string): Promise<Failure | undefined>;
  /** A result as the model gets it, where it is not simply the result's own text or JSON. */
  textOf?(result: JsonValue): string;
  /**
   * What the call would change in files as things stand, for the person who is asked; a failure when the tool itself
   * would refuse it with that, for certain; undefined when it cannot tell. Changes nothing. Only for a tool that has no
   * other effects: nobody is asked about a call that it says would fail.
   */
  preview?(input: JsonValue, conversationId: string): Promise<FileEffects | Failure | undefined>;
}
