import type { JsonObject } from "@sallyport/protocol";

export const CHANNELS = [
  "policy:updates",
  "token:revocations",
  "grants:updates",
  "approvals:updates",
  "tools:updates",
  "queue:updates",
  "calls:updates",
] as const;
export type Channel = (typeof CHANNELS)[number];

export type Listener = (message: JsonObject) => void;

/**
 * Messages between processes that share a store. They are hints: readers read the store again, so a lost message costs
 * time, never correctness.
 */
export interface Bus {
  /** Never rejects and never waits for the listeners. */
  publish(channel: Channel, message: JsonObject): void;
  /** Returns how to stop listening. A listener that throws disturbs nobody. */
  subscribe(channel: Channel, listener: Listener): () => void;
}

export interface Clock {
  /** Unix milliseconds. */
  now(): number;
  /** Monotonic milliseconds; left out: durations are measured by `now`. */
  elapsed?(): number;
}

export interface Ids {
  /** A new UUID that sorts by time of creation. */
  next(): string;
}

/** A number in [0, 1), as Math.random. */
export type Random = () => number;

/** What the machine offers. */
export interface HostResources {
  /** Bytes of memory that this process and all it starts may use together. */
  memoryBytes(): number;
}

/** Where secrets come from, by name. What it gives is used at once and never kept, logged or passed to a tool. */
export interface SecretSource {
  /** Undefined when there is none of that name. Rejects when it cannot be asked (E3301). */
  get(name: string): Promise<string | undefined>;
}

/** W3C trace context, as it stands in the headers. */
export interface TraceContext {
  traceparent: string;
  tracestate?: string;
}

export type Attributes = Record<string, string | number | boolean>;

/** The part of an OpenTelemetry Meter the engine uses: hand it a real one, or the in-memory one. */
export interface Meter {
  createCounter(name: string, options?: InstrumentOptions): Counter;
  createHistogram(name: string, options?: InstrumentOptions): Histogram;
  /** Left out: gauges are not measured. */
  createObservableGauge?(name: string, options?: InstrumentOptions): ObservableGauge;
}

export interface Counter {
  add(value: number, attributes?: Attributes): void;
}

export interface Histogram {
  record(value: number, attributes?: Attributes): void;
}

/** An instrument whose value is read when somebody looks. */
interface ObservableGauge {
  addCallback(read: GaugeReader): void;
  removeCallback(read: GaugeReader): void;
}

export type GaugeReader = (reading: { observe(value: number, attributes?: Attributes): void }) => void;

interface InstrumentOptions {
  description?: string;
  unit?: string;
  /** The upper bounds of a histogram's buckets, ascending. */
  advice?: { explicitBucketBoundaries?: number[] };
}

/** How the work a span stands for ended. */
export type SpanOutcome = { ok: true } | { ok: false; code: string };

/** Makes spans. The engine goes on when it throws or returns nothing. */
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
  /** False: nobody keeps the span, so no child is opened below it. */
  readonly isRecorded?: boolean;
  set(attributes: Attributes): void;
  /** Call it once; attributes set later are lost. */
  end(outcome?: SpanOutcome): void;
  /** Sent to whoever works for this span, so that their spans find their parent. */
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
