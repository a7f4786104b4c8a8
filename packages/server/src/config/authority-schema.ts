import { TIERS } from "@sallyport/engine/ports";
import { ON_APPROVAL, RISKS } from "@sallyport/protocol";
import { z } from "zod";

const names = z.array(z.string().min(1)).min(1);
const positive = z.int().positive();
const path = z.string().min(1);

const tokens = z
  .strictObject({
    required: z
      .boolean()
      .default(false)
      .describe("Refuse every call without a capability token. One that is sent is checked either way."),
    issuers: names.default(["sallyport", "l02-agent-runtime"]).describe("Issuers whose tokens are accepted."),
    jwks: path.optional().describe("JWKS file with public keys of other issuers."),
    publicKeys: z.array(path).default([]).describe("PEM files with public keys of other issuers."),
    skewSeconds: z.int().min(0).max(300).default(30).describe("How far clocks may be apart."),
    maxLifeSeconds: positive.default(86_400).describe("Longest life a token may have been given."),
  })
  .prefault({})
  .describe(
    "Capability tokens. The keys made by `sallyport keys init` are accepted for the issuer `sallyport`.",
  );

const preset = z
  .strictObject({
    enabled: z.boolean().default(true).describe("false: no tool runs."),
    mode: z
      .enum(["auto", "prompt", "deny"])
      .default("prompt")
      .describe("auto: run unless denied. prompt: ask as below. deny: only what is on the allowlist."),
    allowlist: z.array(z.string().min(1)).default([]).describe("Tools the policy does not ask about."),
    denylist: z.array(z.string().min(1)).default([]).describe("Tools that never run."),
    promptSideEffects: z
      .boolean()
      .default(true)
      .describe("In mode prompt: ask about every tool with effects."),
  })
  .describe("A ready-made policy instead of rules files, or in addition to them.");

const timeoutMs = positive.max(500).default(500).describe("No answer by then is a no.");

const policy = z
  .strictObject({
    files: z.array(path).default([]).describe("Rules files; the strictest word of all of them counts."),
    preset: preset.optional(),
    opa: z
      .strictObject({
        endpoint: z
          .url()
          .default("http://localhost:8181/v1/data/tool_execution/allow")
          .describe("The decision that is asked for."),
        timeoutMs,
      })
      .optional()
      .describe("Ask an Open Policy Agent too."),
    abac: z
      .strictObject({ baseUrl: z.url().describe("Where /api/v1/abac/check-permission is."), timeoutMs })
      .optional()
      .describe("Ask an ABAC engine too."),
    cacheSeconds: z
      .int()
      .min(0)
      .max(3_600)
      .default(300)
      .describe("How long answers of OPA and ABAC are kept."),
  })
  .prefault({})
  .describe("Allow, ask or deny. Grants open, the policy narrows; without one, grants alone decide.");

const folder = z.strictObject({
  path: path.describe("A folder or file; relative to the workspace."),
  mode: z.enum(["ro", "rw"]).describe("ro: read. rw: read and write."),
});

const host = z.strictObject({
  host: z.string().min(1).describe("A name, or `*.` and a domain."),
  port: z.int().min(1).max(65_535).optional().describe("Left out: every port."),
});

const agent = z.strictObject({
  agents: names.describe("Agents it is about; the first profile that fits holds."),
  tenants: names.default(["*"]).describe("Tenants whose agents it is about."),
  clearance: z
    .int()
    .min(0)
    .max(10)
    .default(7)
    .describe("Highest security level of a tool it may call. Levels 8 to 10 always ask a person."),
  roles: z.array(z.string().min(1)).default([]).describe("Roles whose stored grants it shares."),
  permissions: z
    .strictObject({
      filesystem: z.array(folder).default([]).describe("Folders."),
      network: z.array(host).default([]).describe("Hosts."),
      credentials: z.array(z.string().min(1)).default([]).describe("Names of `credentials`."),
    })
    .optional()
    .describe("The most that its tokens and its tools may touch. Left out: not limited here."),
  limits: z
    .strictObject({
      timeoutMs: positive.optional().describe("Time on the clock."),
      memoryBytes: positive.optional().describe("Memory."),
      cpuMillicores: positive.optional().describe("Share of processors; 1000 is one."),
      cpuTimeMs: positive.optional().describe("Time on processors."),
      maxOutputBytes: positive.optional().describe("Largest result."),
      maxFileBytes: positive.optional().describe("Largest file."),
      maxDiskBytes: positive.optional().describe("All it writes to disk."),
      maxOpenFiles: positive.optional().describe("Files open at once."),
      maxProcesses: positive.optional().describe("Processes at once."),
      maxConnections: positive.optional().describe("Connections at once."),
      networkMbps: positive.optional().describe("Megabits a second over the network."),
    })
    .optional()
    .describe("The most that one of its tools may use; one that may use more is refused (E3102)."),
});

const level = z.strictObject({
  approvers: names.describe("People of this level; `*` stands for any run of characters."),
  timeoutHours: z.number().positive().max(720).describe("How long before the next level is asked too."),
  channels: z.array(z.string().min(1)).default([]).describe("Where they are told; passed on as it is."),
});

const approvals = z
  .strictObject({
    onApproval: z
      .enum(ON_APPROVAL)
      .default("pending")
      .describe("What a call does that needs approval and does not say itself."),
    quorum: positive.default(1).describe("How many different people have to agree."),
    levels: z
      .array(level)
      .min(1)
      .max(10)
      .default([
        { approvers: ["*"], timeoutHours: 1, channels: [] },
        { approvers: ["*"], timeoutHours: 4, channels: [] },
        { approvers: ["*"], timeoutHours: 24, channels: [] },
      ])
      .describe("Who is asked, and who next. After the last the answer is no."),
    grantTier: z
      .enum(TIERS)
      .default("operator")
      .describe('The tier of an "always allow" that is given on this command line.'),
  })
  .prefault({})
  .describe("How people are asked.");

const capability = z.strictObject({
  id: z.string().min(1).describe("Dotted name, such as `billing.refund`."),
  description: z.string().default("").describe("What it lets a tool do, for whoever grants it."),
  parent: z.string().default("root").describe("The capability it is a part of."),
  risk: z.enum(RISKS).optional().describe("How much harm it can do."),
  requires: z.array(z.string().min(1)).default([]).describe("Capabilities that have to be held as well."),
  conflicts: z.array(z.string().min(1)).default([]).describe("Capabilities that may not be held as well."),
  delegatable: z.boolean().default(false).describe("Whether a holder may pass it on."),
});

/** The keys that say who may do what, and who is asked. */
export const authorityKeys = {
  agents: z.array(agent).default([]).describe("What is known of agents: clearance, roles, outer limits."),
  capabilities: z.array(capability).default([]).describe("Capabilities in addition to the built-in ones."),
  tokens,
  policy,
  approvals,
};
