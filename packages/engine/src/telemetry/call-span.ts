import type { Accepted, CallAnswer } from "@sallyport/protocol";
import type { Attributes, Span, SpanOutcome, SpanStart, TraceContext, Tracer } from "../ports/platform.ts";
import type { Confinement } from "../ports/runner.ts";

/** What each stage of the passage is called in a trace (L3P2-5). */
const STAGE_SPANS = new Map([
  ["resolve", "tool_registry.lookup"],
  ["validate", "input.validate"],
  ["authorise", "permission.check"],
  ["approve", "approval.check"],
  ["admit", "admission.wait"],
  ["journal intent", "journal.intent"],
  ["execute", "tool.execute"],
  ["check result", "result.validate"],
  ["commit", "event.publish"],
]);

/** A stage that has no name there keeps its own. */
export function spanNameOf(stage: string): string {
  return STAGE_SPANS.get(stage) ?? stage;
}

/** A part of a call that takes time; end it exactly once. */
interface OpenSpan {
  end(outcome?: SpanOutcome): void;
}

export interface TracedCall {
  callId: string;
  tool: string;
  /** The trace the caller is in. */
  trace?: TraceContext | undefined;
}

/**
 * A call as a trace shows it: one span for the whole, one below it for each stage. Whatever the tracer throws stops
 * here, and the call goes on without the span.
 */
export class CallSpan {
  readonly #tracer: Tracer;
  readonly #root: Span | undefined;
  #stage: Span | undefined;

  constructor(tracer: Tracer, { callId, tool, trace }: TracedCall) {
    this.#tracer = tracer;
    const attributes = { tool_id: tool, invocation_id: callId };
    this.#root = this.#start("tool.invoke", { attributes, ...(trace && { parent: trace }) });
  }

  /** Opens the span of a stage; until it ends, what is opened and handed on belongs below it. */
  stage(name: string): OpenSpan {
    const span = this.#below(this.#root, spanNameOf(name));
    this.#stage = span;
    return {
      end: (outcome) => {
        if (this.#stage === span) this.#stage = undefined;
        finish(span, outcome);
      },
    };
  }

  /** Opens a span below the stage under way, or below the call where none is. */
  open(name: string): OpenSpan {
    const span = this.#below(this.#stage ?? this.#root, name);
    return { end: (outcome) => finish(span, outcome) };
  }

  /** What is handed to whoever works for the call now; undefined where the tracer gives none. */
  context(): TraceContext | undefined {
    return guarded(() => (this.#stage ?? this.#root)?.context());
  }

  /** Ends the whole, as the caller is answered. */
  end(answer: CallAnswer | Accepted): void {
    const { version: tool_version, status } = answer;
    const ran = "attempts" in answer && { attempts: answer.attempts, replayed: answer.replayed };
    finish(this.#root, outcomeOf(answer), { tool_version, status, ...ran });
  }

  /** Nothing is opened below what could not be opened, as it would begin a trace of its own, or what nobody keeps. */
  #below(parent: Span | undefined, name: string): Span | undefined {
    return parent && parent.isRecorded !== false ? this.#start(name, { parent }) : undefined;
  }

  #start(name: string, options: SpanStart): Span | undefined {
    return guarded(() => this.#tracer.start(name, options));
  }
}

/** A call that waits for room or for a person has not failed. */
function outcomeOf(answer: CallAnswer | Accepted): SpanOutcome {
  const failed = "error" in answer && answer.status !== "pending_approval";
  return failed ? { ok: false, code: answer.error.code } : { ok: true };
}

function finish(span: Span | undefined, outcome: SpanOutcome | undefined, attributes?: Attributes): void {
  guarded(() => {
    const code = outcome && !outcome.ok ? { error_code: outcome.code } : undefined;
    if (attributes ?? code) span?.set({ ...attributes, ...code });
    span?.end(outcome);
  });
}

function guarded<T>(ask: () => T): T | undefined {
  try {
    return ask();
  } catch {
    return undefined;
  }
}

/**
 * The confinement with a span from now until its sandbox is there. Where the run ends without one the span is left open
 * and never seen: there was no sandbox to speak of.
 */
export function withSandboxSpan(confinement: Confinement, span: CallSpan | undefined): Confinement {
  if (!span) return confinement;
  const creating = span.open("sandbox.create");
  return {
    ...confinement,
    onEvent: (event) => {
      if (event === "SANDBOX_CREATED") creating.end({ ok: true });
      confinement.onEvent?.(event);
    },
  };
}
