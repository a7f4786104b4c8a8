import type { Issue, JsonObject } from "@sallyport/protocol";

/** What a tool gets beside its input. */
export interface ToolContext {
  /** Aborts at the deadline, when the gateway hangs up, and when a stopping worker waits no longer. Pass it on to what you await. */
  readonly signal: AbortSignal;
  /** When the gateway stops waiting, in milliseconds since 1970. */
  readonly deadlineAt: number;
  readonly toolId: string;
  readonly runId: string;
  readonly traceId: string;
  readonly domainId: string;
  /** The trace headers as they came (`traceparent`, `tracestate`): send them with your own requests. */
  readonly traceHeaders: Readonly<Record<string, string>>;
}

/** One tool of a worker. */
export interface WorkerTool {
  /**
   * Does the work and gives back its output, a JSON value. Throw a `ToolError` to say what went wrong; anything else that is
   * thrown is reported to the caller as INTERNAL, without its text.
   */
  run(input: JsonObject, context: ToolContext): unknown;
  /** Names what is wrong with an input. Gateways check schemas themselves, so this is for workers that others call too. */
  validate?(input: JsonObject): readonly Issue[];
}
