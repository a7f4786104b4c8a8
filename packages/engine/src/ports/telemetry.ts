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
}

export interface InstrumentOptions {
  description?: string;
  unit?: string;
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
