import { z } from "zod";
import { secretReference } from "./secret-schema.ts";

const path = z.string().min(1);
const positive = z.int().positive();
const KIB = 1024;
const WEB_ADDRESS = /^https?$/;
const ORIGIN = /^https?:\/\/[^/?#\s]+$/;

const tls = z
  .strictObject({
    cert: path.describe("PEM file with the certificate and those it was signed by."),
    key: path.describe("PEM file with its private key."),
  })
  .optional()
  .describe("Serve HTTPS. Left out: plain HTTP.");

const http = z
  .strictObject({
    host: z
      .string()
      .min(1)
      .default("127.0.0.1")
      .describe("Address to listen at. One that others can reach needs `callers: token`."),
    port: z.int().min(0).max(65_535).default(7_420).describe("Port to listen at; 0: any that is free."),
    tls,
    callers: z
      .enum(["open", "token"])
      .default("open")
      .describe(
        "open: every caller is believed to be the agent it names; on loopback only. token: every call needs a capability token.",
      ),
    allowedHosts: z
      .array(z.string().min(1))
      .default([])
      .describe("Further names in `Host` that requests may come with; others are refused."),
    allowedOrigins: z
      .array(z.string().regex(ORIGIN).meta({ title: "an origin, such as https://app.example" }))
      .default([])
      .describe("Web pages that may call, such as `https://app.example`. Every other page is refused."),
    publicUrl: z
      .url({ protocol: WEB_ADDRESS })
      .optional()
      .describe("Address for links in answers, when callers know another one than this server listens at."),
    metrics: z
      .enum(["open", "operator"])
      .optional()
      .describe(
        "Who may read /metrics, which names tools. Left out: open on loopback where callers need no token, else operator.",
      ),
    bodyBytes: positive.default(KIB * KIB).describe("Largest request body."),
    headerBytes: positive
      .min(KIB)
      .default(16 * KIB)
      .describe("All headers of a request together."),
    requestSeconds: positive.default(30).describe("How long a request may take to arrive."),
    idleSeconds: positive.default(65).describe("How long an unused connection is kept."),
    connections: positive.default(1_024).describe("Connections at once."),
    shutdownSeconds: z
      .int()
      .min(0)
      .default(30)
      .describe("How long running calls may take to finish when the server is told to stop."),
  })
  .prefault({})
  .describe("The HTTP door, opened by `sallyport serve`.");

const webhooks = z
  .strictObject({
    allowPrivate: z
      .boolean()
      .default(false)
      .describe("Let `callback_url` lead to loopback and private addresses."),
    callbackHosts: z
      .union([z.literal("off"), z.array(z.string().min(1))])
      .optional()
      .describe(
        "Hosts that may be called, such as `hooks.example.com` or `*.example.com`; off: none. Left out: any that is reachable.",
      ),
    secret: secretReference
      .optional()
      .describe("What callbacks are signed with. Left out: a key made in the state folder."),
    attempts: positive.max(100).default(8).describe("How often a callback is tried."),
    timeoutSeconds: positive.max(300).default(10).describe("How long a receiver may take to answer."),
  })
  .prefault({})
  .describe("Callbacks to callers that do not wait for their answer.");

const log = z
  .strictObject({
    level: z
      .enum(["trace", "debug", "info", "warn", "error", "silent"])
      .default("info")
      .describe("The least that is worth a line."),
    format: z
      .enum(["auto", "json", "text"])
      .default("auto")
      .describe("auto: short lines at a terminal, JSON lines anywhere else."),
  })
  .prefault({})
  .describe("What `sallyport serve` writes to stderr; secrets are taken out.");

/** The keys of a server that runs as a server. */
export const httpKeys = { http, webhooks, log };
