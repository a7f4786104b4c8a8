import type { Meter } from "@opentelemetry/api";

const BUCKETS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
const METHODS = new Set(["GET", "POST", "DELETE", "PUT", "PATCH", "HEAD", "OPTIONS"]);

/** A request that has its answer. */
export interface Answered {
  method: string;
  /** The route's path as it is declared, such as `/v1/invocations/{id}`; left out when no route was meant. */
  route?: string | undefined;
  status: number;
  seconds: number;
}

export interface HttpMetrics {
  /** Counts a request. Never throws. */
  answered(request: Answered): void;
}

/** Requests by method, route and status. What a client can make up never becomes a label. */
export function createHttpMetrics(meter: Meter): HttpMetrics {
  const requests = meter.createCounter("http_requests_total", { description: "HTTP requests answered" });
  const duration = meter.createHistogram("http_request_duration_seconds", {
    description: "Time from a request to its answer",
    unit: "s",
    advice: { explicitBucketBoundaries: BUCKETS },
  });
  return {
    answered({ method, route = "unmatched", status, seconds }) {
      const known = { method: METHODS.has(method) ? method : "other", route };
      try {
        requests.add(1, { ...known, status: String(status) });
        duration.record(seconds, known);
      } catch {
        // The answer is sent; that nobody counted it is no reason to fail.
      }
    },
  };
}
