import { countOf, type Environment, firstOf, isTrue, pairsOf, textOf, type Warn } from "./environment.ts";

export type Signal = "traces" | "metrics";

/** Where a signal is sent, over OTLP as JSON. */
export interface Collector {
  url: string;
  headers: Record<string, string>;
  timeoutMs: number;
}

const DEFAULT_ENDPOINT = "http://localhost:4318";
const TIMEOUT_MS = 10_000;

/** Answered elsewhere: readings can be had at `/metrics` whatever is sent. */
const ELSEWHERE: Record<Signal, readonly string[]> = { traces: [], metrics: ["prometheus"] };

/**
 * Where the standard variables want a signal sent; undefined when nowhere. Other than the standard says, nothing is
 * sent until an endpoint or `otlp` is named, so that nobody who set nothing finds connections to port 4318.
 */
export function collectorOf(signal: Signal, env: Environment, warn: Warn): Collector | undefined {
  if (isTrue(env, "OTEL_SDK_DISABLED")) return undefined;
  const part = signal.toUpperCase();
  const wanted = exportersOf(signal, env, warn);
  const own = textOf(env, `OTEL_EXPORTER_OTLP_${part}_ENDPOINT`);
  const shared = textOf(env, "OTEL_EXPORTER_OTLP_ENDPOINT");
  const isOn = wanted ? wanted.includes("otlp") : (own ?? shared) !== undefined;
  if (!isOn) return undefined;
  const url = readUrl(own ?? `${(shared ?? DEFAULT_ENDPOINT).replace(/\/+$/, "")}/v1/${signal}`);
  if (!url) warn(`The endpoint for ${signal} is not an http or https address; they are not sent.`);
  if (!url || speaksOtherwise(part, env, warn)) return undefined;
  return { url, headers: headersOf(part, env, warn), timeoutMs: timeoutOf(part, env, warn) };
}

/** What OTEL_*_EXPORTER asks for; undefined when it is not set. */
function exportersOf(signal: Signal, env: Environment, warn: Warn): string[] | undefined {
  const name = `OTEL_${signal.toUpperCase()}_EXPORTER`;
  const listed = textOf(env, name)
    ?.split(",")
    .map((exporter) => exporter.trim().toLowerCase());
  const known = ["otlp", "none", ...ELSEWHERE[signal]];
  if (listed?.some((exporter) => !known.includes(exporter)))
    warn(`${name} names an exporter that there is not here (there are ${known.join(", ")}); it is ignored.`);
  return listed;
}

function readUrl(text: string): string | undefined {
  const url = URL.parse(text);
  return url && /^https?:$/.test(url.protocol) ? url.href : undefined;
}

/** Collectors take JSON where they take protobuf, on the same port; gRPC has another. */
function speaksOtherwise(part: string, env: Environment, warn: Warn): boolean {
  const protocol = firstOf(env, [`OTEL_EXPORTER_OTLP_${part}_PROTOCOL`, "OTEL_EXPORTER_OTLP_PROTOCOL"]);
  if (protocol === undefined || protocol.startsWith("http/")) return false;
  warn(
    `OTLP is spoken over http only, not ${protocol}: name the collector's http endpoint (port 4318) and set OTEL_EXPORTER_OTLP_PROTOCOL=http/json. ${part} are not sent.`,
  );
  return true;
}

function headersOf(part: string, env: Environment, warn: Warn): Record<string, string> {
  return {
    ...pairsOf(env, "OTEL_EXPORTER_OTLP_HEADERS", warn),
    ...pairsOf(env, `OTEL_EXPORTER_OTLP_${part}_HEADERS`, warn),
  };
}

function timeoutOf(part: string, env: Environment, warn: Warn): number {
  const shared = countOf(env, "OTEL_EXPORTER_OTLP_TIMEOUT", { otherwise: TIMEOUT_MS, warn });
  return countOf(env, `OTEL_EXPORTER_OTLP_${part}_TIMEOUT`, { otherwise: shared, warn });
}
