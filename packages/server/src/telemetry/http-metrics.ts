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

interface Count {
  labels: { method: string; route: string; status: string };
  requests: number;
}

/** Requests by method, route and status. What a client can make up never becomes a label. */
export function createHttpMetrics(meter: Meter): HttpMetrics {
  const counts = new Map<string, Count>();
  const duration = meter.createHistogram("http_request_duration_seconds", {
    description: "Time from a request to its answer",
    unit: "s",
    advice: { explicitBucketBoundaries: BUCKETS },
  });
  // Added up here and read when somebody asks, because each word to the meter costs more than all of this.
  meter
    .createObservableCounter("http_requests_total", { description: "HTTP requests answered" })
    .addCallback((reader) => {
      for (const { requests, labels } of counts.values()) reader.observe(requests, labels);
    });
  return {
    answered({ method, route = "unmatched", status, seconds }) {
      const known = METHODS.has(method) ? method : "other";
      count(counts, { method: known, route, status: String(status) });
      try {
        duration.record(seconds, { method: known, route });
      } catch {
        // The answer is sent; that nobody measured it is no reason to fail.
      }
    },
  };
}

function count(counts: Map<string, Count>, labels: Count["labels"]): void {
  const series = `${labels.status} ${labels.method} ${labels.route}`;
  const known = counts.get(series);
  if (known) known.requests += 1;
  else counts.set(series, { labels, requests: 1 });
}
