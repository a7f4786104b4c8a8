/** W3C trace context, as it stands in the headers. */
export interface TraceContext {
  traceparent: string;
  tracestate?: string;
}
