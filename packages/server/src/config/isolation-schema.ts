import { ISOLATION_LEVELS } from "@sallyport/protocol";
import { z } from "zod";
import { secretReference } from "./secret-schema.ts";

const path = z.string().min(1);
const names = z.array(z.string().min(1)).min(1);
const positive = z.int().positive();
const MIB = 1024 * 1024;

const weaker = z.strictObject({
  tools: names.describe("Tools it is about; `*` stands for any run of characters."),
  level: z
    .enum(ISOLATION_LEVELS)
    .describe("LEVEL_1: own session, limits, clean environment. LEVEL_0: nothing."),
  because: z.string().min(1).describe("Why that is acceptable; shown by `sallyport doctor`."),
});

const socket = z.strictObject({
  tools: z.array(z.string().min(1)).min(1).describe("Tool ids; `*` stands for any part."),
  paths: z
    .array(z.string().startsWith("/"))
    .min(1)
    .describe("Absolute paths of sockets or fifos, seen at the same paths inside."),
  because: z.string().min(1).describe("Why that is acceptable; shown by `sallyport doctor`."),
});

const credential = z.strictObject({
  host: z.string().min(1).describe("The one host it is good for."),
  port: z.int().min(1).max(65_535).optional().describe("The one port. Left out: every port."),
  secret: secretReference.describe(
    "Where the secret is: an environment variable of Sallyport's, or a file only its owner can read.",
  ),
  header: z.string().min(1).default("Authorization").describe("The header the proxy sets."),
  value: z
    .string()
    .includes("{secret}")
    .default("Bearer {secret}")
    .describe("Its value; `{secret}` is replaced."),
  basicUser: z.string().optional().describe("Use basic authentication with this user name instead."),
  intercept: z
    .boolean()
    .default(false)
    .describe("Needed for https: the proxy ends TLS with a certificate that only this sandbox trusts."),
  plainHttp: z
    .boolean()
    .default(false)
    .describe("Send it over plain HTTP too, to a private address of a host in `sandbox.privateHosts`."),
  ranges: z
    .boolean()
    .default(false)
    .describe(
      "Pass on requests for parts of an answer (Range), in which the secret cannot be found and masked.",
    ),
});

const sandbox = z
  .strictObject({
    backends: z
      .array(z.enum(["bubblewrap", "oci", "process"]))
      .min(1)
      .default(["bubblewrap", "process"])
      .describe("How processes are isolated, the first that offers the demanded level."),
    ociRuntime: z
      .string()
      .min(1)
      .default("crun")
      .describe("Name or path of an OCI runtime: crun, runc, runsc."),
    weaker: z
      .array(weaker)
      .default([])
      .describe(
        "Tools that may run in less than LEVEL_2. Every other process tool is refused where LEVEL_2 is not available.",
      ),
    sockets: z
      .array(socket)
      .default([])
      .describe(
        "Sockets and fifos of the host that tools reach in LEVEL_2. Every other one is out of reach.",
      ),
    user: z
      .strictObject({
        uid: positive.describe("Number of the user."),
        gid: positive.describe("Number of the group."),
      })
      .optional()
      .describe("Who tools run as when Sallyport itself runs as root (default: nobody)."),
    hidden: z.array(path).default([]).describe("Further paths that no process sees."),
    denied: z
      .array(z.string().min(1))
      .default([])
      .describe("Further paths and patterns that no call reads or changes."),
    privateHosts: z
      .array(z.string().min(1))
      .default([])
      .describe("Hosts that may lead to loopback or private addresses."),
    warm: z
      .strictObject({
        perTool: z
          .int()
          .min(0)
          .default(1)
          .describe("Sandboxes kept ready for each script tool and agent; 0: none."),
        total: z.int().min(0).default(4).describe("Kept ready in all."),
        idleSeconds: positive.default(60).describe("How long an unused one is kept."),
      })
      .prefault({})
      .describe("Script tools start faster from sandboxes that wait for them."),
  })
  .prefault({})
  .describe("How tools that run in processes of their own are isolated.");

const effects = z
  .strictObject({
    undoDays: z
      .number()
      .positive()
      .max(365)
      .default(7)
      .describe("How long a call's file changes can be undone."),
    undoBytes: positive.default(1024 * MIB).describe("Room for what that takes; the oldest go first."),
    copyBytes: positive
      .default(256 * MIB)
      .describe("Largest workspace that is copied where the kernel offers no copy-on-write view."),
  })
  .prefault({})
  .describe("File changes of calls: staged, committed with the outcome, undone later.");

/** The keys that say where tools run and what they may touch there. */
export const isolationKeys = {
  workspace: path.default(".").describe("Folder that relative paths in tools' permissions start from."),
  sandbox,
  effects,
  credentials: z
    .record(z.string().min(1), credential)
    .default({})
    .describe("Secrets that the egress proxy adds for tools that name them; no tool ever sees one."),
};
