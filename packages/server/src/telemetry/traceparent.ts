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
