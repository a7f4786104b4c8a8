import { z } from "zod";
import { secretReference } from "./secret-schema.ts";

const positive = z.int().positive();
const path = z.string().min(1);
const SINK_NAME = /^[a-z0-9][a-z0-9_-]{0,62}$/;
const BROKER = /^(\[[0-9a-fA-F:.]+\]|[^\s:/]+):\d{1,5}$/;
const HEADER_NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const WEB_ADDRESS = /^https?$/;

const timeoutMs = positive.max(300_000).default(10_000).describe("How long one answer may take.");

const jsonl = z.strictObject({
  file: path.describe("File that events are appended to, one JSON object a line; relative to this file."),
});

const http = z.strictObject({
  url: z
    .url({ protocol: WEB_ADDRESS })
    .refine((url) => !URL.canParse(url) || new URL(url).password === "", {
      message: "holds a password; put it into a header, by reference",
    })
    .describe("Where events are posted."),
  mode: z
    .enum(["batched", "structured", "binary"])
    .default("batched")
    .describe(
      "batched: up to 100 events a request. structured: one. binary: one, its attributes as headers.",
    ),
  headers: z
    .record(
      z.string().regex(HEADER_NAME).meta({ title: "a header name, such as Authorization" }),
      z.union([z.string().min(1), secretReference]),
    )
    .default({})
    .describe("Further headers of every request: a text, or where a secret is."),
  timeoutMs,
});

const tls = z.union([
  z.boolean(),
  z.strictObject({
    ca: path.optional().describe("PEM file with the certificates that are trusted."),
    cert: path.optional().describe("PEM file with this client's certificate."),
    key: path.optional().describe("PEM file with its key."),
    servername: z.string().min(1).optional().describe("Name that the broker's certificate has to be for."),
  }),
]);

const kafka = z.strictObject({
  brokers: z
    .array(z.string().regex(BROKER).meta({ title: "host:port" }))
    .min(1)
    .describe("At least one broker, as host:port."),
  topic: z
    .string()
    .regex(/^[A-Za-z0-9._-]{1,249}$/)
    .meta({ title: "a topic name (letters, digits, `.`, `_`, `-`)" })
    .default("tool-execution-events")
    .describe("It has to exist: nothing creates it."),
  tls: tls
    .default(false)
    .describe("true: TLS with the certificates that Node trusts. Or with files of your own."),
  sasl: z
    .strictObject({
      mechanism: z.enum(["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]).describe("How it logs in."),
      username: z.string().min(1).describe("The user."),
      password: secretReference.describe("Where the password is."),
    })
    .optional()
    .describe("Left out: no login."),
  compression: z
    .enum(["none", "gzip", "snappy", "lz4", "zstd"])
    .default("gzip")
    .describe("How batches are compressed."),
  timeoutMs,
});

const sink = z
  .strictObject({
    name: z
      .string()
      .regex(SINK_NAME)
      .meta({ title: "lower-case letters, digits, - and _ (63 characters at most)" })
      .describe("Events wait under this name. A new name is a new sink."),
    jsonl: jsonl.optional().describe("A file."),
    http: http.optional().describe("An HTTP receiver of CloudEvents."),
    kafka: kafka
      .optional()
      .describe("A Kafka topic, keyed by tenant; needs the package @platformatic/kafka."),
  })
  .refine(({ name: _, ...kinds }) => Object.values(kinds).filter((kind) => kind !== undefined).length === 1, {
    message: "needs exactly one of jsonl, http and kafka",
  });

/** Where calls are published. */
export const eventKeys = {
  events: z
    .union([
      z.boolean(),
      z.strictObject({
        sinks: z
          .array(sink)
          .max(16)
          .refine((sinks) => new Set(sinks.map(({ name }) => name)).size === sinks.length, {
            message: "has two sinks of the same name",
          })
          .describe("Every event goes to each of them; one that is down holds up no other."),
      }),
    ])
    .default(true)
    .describe("Publish CloudEvents. true: to events.jsonl in the state folder. false: nowhere."),
};
