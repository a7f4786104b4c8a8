import type { Meter } from "@opentelemetry/api";

const LAG_BUCKETS = [0.005, 0.01, 0.05, 0.1, 0.5, 1, 5];
/** A stall longer than this is always seen. */
const LAG_EVERY_MS = 100;

/** Measures this process: CPU, memory, uptime, and how late its event loop is. Returns how to stop. */
export function watchProcess(meter: Meter): () => void {
  meter
    .createObservableCounter("process_cpu_seconds_total", {
      description: "CPU time of this process",
      unit: "s",
    })
    .addCallback((reading) => reading.observe(cpuSeconds()));
  const gauge = (name: string, unit: string, description: string) =>
    meter.createObservableGauge(name, { unit, description });
  gauge("process_resident_memory_bytes", "By", "Memory this process holds").addCallback((reading) =>
    reading.observe(process.memoryUsage.rss()),
  );
  gauge("nodejs_heap_size_used_bytes", "By", "JavaScript heap in use").addCallback((reading) =>
    reading.observe(process.memoryUsage().heapUsed),
  );
  gauge("process_uptime_seconds", "s", "Time since this process began").addCallback((reading) =>
    reading.observe(process.uptime()),
  );
  return watchLag(meter);
}

function cpuSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000_000;
}

/**
 * How much later than due a timer fires. A histogram, so that every reader of the metrics sees all of it, at whatever
 * interval it reads.
 */
function watchLag(meter: Meter): () => void {
  const lag = meter.createHistogram("nodejs_eventloop_lag_seconds", {
    description: "How late timers fire because the event loop is busy",
    unit: "s",
    advice: { explicitBucketBoundaries: LAG_BUCKETS },
  });
  let last = performance.now();
  const timer = setInterval(() => {
    const now = performance.now();
    lag.record(Math.max(0, now - last - LAG_EVERY_MS) / 1_000);
    last = now;
  }, LAG_EVERY_MS).unref();
  return () => clearInterval(timer);
}
