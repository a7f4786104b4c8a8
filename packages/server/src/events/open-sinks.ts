import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { createHttpSink, createJsonlSink, createKafkaSink } from "@sallyport/adapters/events";
import type { EventSink } from "@sallyport/engine/ports";
import type { LoadedConfig } from "../config/load.ts";
import { requireSecret, type SecretReference } from "../runtime/configured-secrets.ts";

type ConfiguredSink = Exclude<LoadedConfig["events"], boolean>["sinks"][number];
type TlsFiles = Exclude<NonNullable<ConfiguredSink["kafka"]>["tls"], boolean>;

/** The sink of `events: true`. */
const FILE = "file";

/**
 * The configured sinks by name; none when nothing is to be published. Nothing is connected yet. Secrets and certificates
 * are read when a sink connects, so that one that is missing is a problem of this sink alone, and a new one needs no
 * restart.
 */
export function openSinks(config: LoadedConfig): Map<string, EventSink> {
  const { events, stateFolder } = config;
  if (events === true) return new Map([[FILE, createJsonlSink(resolve(stateFolder, "events.jsonl"))]]);
  if (events === false) return new Map();
  return new Map(events.sinks.map((sink) => [sink.name, openSink(sink, config)]));
}

/** The names of the configured sinks. */
export function sinkNames({ events }: Pick<LoadedConfig, "events">): string[] {
  if (typeof events === "boolean") return events ? [FILE] : [];
  return events.sinks.map(({ name }) => name);
}

function openSink({ name, jsonl, http, kafka }: ConfiguredSink, { folder }: LoadedConfig): EventSink {
  const secret = (reference: SecretReference) =>
    requireSecret(reference, { folder, need: `the event sink "${name}" needs` });
  if (http) {
    const headers = () =>
      Object.fromEntries(
        Object.entries(http.headers).map(([header, value]) => [
          header,
          typeof value === "string" ? value : secret(value),
        ]),
      );
    return createHttpSink({ ...http, headers });
  }
  if (kafka) {
    const { tls, sasl, ...rest } = kafka;
    return createKafkaSink({
      ...rest,
      connection: () => ({
        ...(tls && { tls: tls === true ? {} : tlsFiles(tls, folder) }),
        ...(sasl && { sasl: { ...sasl, password: secret(sasl.password) } }),
      }),
    });
  }
  return createJsonlSink(resolve(folder, jsonl?.file ?? `${name}.jsonl`));
}

function tlsFiles({ ca, cert, key, servername }: TlsFiles, folder: string) {
  const read = (file: string) => readFileSync(resolve(folder, file), "utf8");
  return {
    ...(ca !== undefined && { ca: read(ca) }),
    ...(cert !== undefined && { cert: read(cert) }),
    ...(key !== undefined && { key: read(key) }),
    ...(servername !== undefined && { servername }),
  };
}
