import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { createHttpSink, createJsonlSink, createKafkaSink } from "@sallyport/adapters/events";
import type { EventSink } from "@sallyport/engine/ports";
import { failure, SallyportError } from "@sallyport/protocol";
import type { LoadedConfig } from "../config/load.ts";
import { readSecret } from "../runtime/configured-secrets.ts";

type ConfiguredSink = Exclude<LoadedConfig["events"], boolean>["sinks"][number];
type TlsFiles = Exclude<NonNullable<ConfiguredSink["kafka"]>["tls"], boolean>;
type SecretReference = Parameters<typeof readSecret>[0];

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
  const secret = (reference: SecretReference) => requireSecret(reference, { folder, sink: name });
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

/** E3301 when there is none; its text is never told. */
function requireSecret(
  reference: SecretReference,
  { folder, sink }: { folder: string; sink: string },
): string {
  const value = readSecret(reference, folder);
  if (value !== undefined && value !== "") return value;
  const where = "env" in reference ? `The variable ${reference.env}` : `The file ${reference.file}`;
  const message = `${where}, which the event sink "${sink}" needs, holds no secret.`;
  throw new SallyportError(failure("E3301", { message }));
}
