import {
  type Context,
  createTraceState,
  type Span as OtelSpan,
  type Tracer as OtelTracer,
  ROOT_CONTEXT,
  SpanStatusCode,
  trace,
} from "@opentelemetry/api";
import type { Attributes, Span, SpanOutcome, SpanStart, TraceContext, Tracer } from "@sallyport/engine/ports";

/** The engine's tracer over an OpenTelemetry one. */
export class SpanTracer implements Tracer {
  readonly #tracer: OtelTracer;

  constructor(tracer: OtelTracer) {
    this.#tracer = tracer;
  }

  start(name: string, { parent, attributes }: SpanStart = {}): Span {
    const span = this.#tracer.startSpan(name, attributes && { attributes }, contextOf(parent));
    return new TracedSpan(span);
  }
}

/** A span that has begun. */
class TracedSpan implements Span {
  readonly span: OtelSpan;

  constructor(span: OtelSpan) {
    this.span = span;
  }

  get isRecorded(): boolean {
    return this.span.isRecording();
  }

  set(attributes: Attributes): void {
    this.span.setAttributes(attributes);
  }

  /** The status says only that it failed and by which code; messages can quote what a caller sent. */
  end(outcome?: SpanOutcome): void {
    if (outcome && !outcome.ok) this.span.setStatus({ code: SpanStatusCode.ERROR, message: outcome.code });
    this.span.end();
  }

  context(): TraceContext {
    const { traceId, spanId, traceFlags, traceState } = this.span.spanContext();
    const traceparent = `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, "0")}`;
    const tracestate = traceState?.serialize();
    return { traceparent, ...(tracestate && { tracestate }) };
  }
}

function contextOf(parent: Span | TraceContext | undefined): Context {
  if (parent === undefined) return ROOT_CONTEXT;
  if (parent instanceof TracedSpan) return trace.setSpan(ROOT_CONTEXT, parent.span);
  const { traceparent, tracestate } = "context" in parent ? parent.context() : parent;
  const remote = readTraceparent(traceparent);
  if (!remote) return ROOT_CONTEXT;
  const { traceId, spanId, flags: traceFlags } = remote;
  const traceState = tracestate === undefined ? undefined : createTraceState(tracestate);
  return trace.setSpanContext(ROOT_CONTEXT, {
    traceId,
    spanId,
    traceFlags,
    isRemote: true,
    ...(traceState && { traceState }),
  });
}

/** The parts of a W3C `traceparent`. */
export interface ParentSpan {
  traceId: string;
  spanId: string;
  flags: number;
}

const TRACEPARENT = /^([\da-f]{2})-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(-.*)?$/;
const NOTHING = /^0+$/;

/** Undefined for what is no `traceparent`: then the caller is in no trace that could be joined. */
export function readTraceparent(text: string): ParentSpan | undefined {
  const [, version, traceId = "", spanId = "", flags = "", more] = TRACEPARENT.exec(text) ?? [];
  // A later version may say more at the end; this one may not.
  if (version === undefined || version === "ff" || (version === "00" && more !== undefined)) return undefined;
  if (NOTHING.test(traceId) || NOTHING.test(spanId)) return undefined;
  return { traceId, spanId, flags: Number.parseInt(flags, 16) };
}
