import type { TraceContext } from "./trace.ts";

export type { TraceContext } from "./trace.ts";

export type Attributes = Record<string, string | number | boolean>;

/** The part of an OpenTelemetry Meter the engine uses: hand it a real one, or the in-memory one. */
export interface Meter {
  createCounter(
    name: string,
    options?: InstrumentOptions,
  ): { add(value: number, attributes?: Attributes): void };
  createHistogram(
    name: string,
    options?: InstrumentOptions,
  ): { record(value: number, attributes?: Attributes): void };
  /** Left out: what can only be read at the moment somebody looks is not measured. */
  createObservableGauge?(name: string, options?: InstrumentOptions): ObservableGauge;
}

/** Something that has a value whenever somebody looks. */
export interface ObservableGauge {
  addCallback(read: GaugeReader): void;
  removeCallback(read: GaugeReader): void;
}

export type GaugeReader = (reading: { observe(value: number, attributes?: Attributes): void }) => void;

export interface InstrumentOptions {
  description?: string;
  unit?: string;
  /** The upper bounds of a histogram's buckets, ascending. */
  advice?: { explicitBucketBoundaries?: number[] };
}

/** How the work a span stands for ended. */
export type SpanOutcome = { ok: true } | { ok: false; code: string };

/** Makes spans. It is never relied upon: the engine goes on without whatever it throws or does not give. */
export interface Tracer {
  /** Without a parent, or with one that makes no sense, the span begins a trace of its own. */
  start(name: string, options?: SpanStart): Span;
}

export interface SpanStart {
  /** A span of this tracer, or the context a caller sent. */
  parent?: Span | TraceContext;
  attributes?: Attributes;
}

/** Work under way. Attributes never hold what a caller sent to a tool or what a tool gave back. */
export interface Span {
  /** False: nobody keeps it, so that nothing needs to be opened below it. */
  readonly isRecorded?: boolean;
  set(attributes: Attributes): void;
  /** Once; what is set later is lost. */
  end(outcome?: SpanOutcome): void;
  /** What whoever works for this span is told, so that its own spans find their parent. */
  context(): TraceContext;
}

export interface ErrorReport {
  error: unknown;
  code: string;
  callId?: string;
  tool?: string;
  stage?: string;
}

/** Where every caught exception is reported with its context and stack (R1-4.4). A failing handler is ignored. */
export interface ErrorHandler {
  report(report: ErrorReport): void;
}
