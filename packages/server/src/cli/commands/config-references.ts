import { accessSync, constants, statSync } from "node:fs";
import { resolve } from "node:path";
import { defined, type Failure, type Issue, isFailure } from "@sallyport/protocol";
import type { ConfigReading, LoadedConfig } from "../../config/load.ts";
import { keyText } from "../../config/schema-issues.ts";
import { readConfiguredDomain } from "../../gateway/gateway.ts";
import { refuseWideBinding } from "../../http/guard/wide-binding.ts";
import { loadPolicyFile } from "../../policy/load-policy.ts";
import { capabilitiesOf } from "../../runtime/authority.ts";
import { moduleProblems } from "../../runtime/tools.ts";
import { configuredWebhookSecrets } from "../../webhooks/configured-secret.ts";
import { originText } from "./config-values.ts";

type Step = string | number;

interface Reference {
  path: Step[];
  file: string;
  what: "file" | "folder";
}

/** What a configuration that is right in itself would still stop the start with: missing files, wrong rules, an open door. */
export function referenceIssues(read: Extract<ConfigReading, { ok: true }>): Issue[] {
  const { config } = read;
  const place = (path: Step[]) => placeIn(read, path);
  const missing = references(config).flatMap(({ path, file, what }) => {
    const why = trouble(resolve(config.folder, file), what);
    return why === undefined ? [] : [{ path: place(path), reason: `${keyText(path)}: ${why}` }];
  });
  const wide = refuseWideBinding(config.http);
  const binding = wide
    ? [{ path: place(["http", "host"]), reason: wide.message, suggestion: wide.advice }]
    : [];
  const unsigned = secretTrouble(config);
  const secret = unsigned
    ? [
        {
          path: place(["webhooks", "secret"]),
          reason: `webhooks.secret: ${unsigned.message}`,
          suggestion: unsigned.advice,
        },
      ]
    : [];
  const refused = capabilitiesOf(config);
  const capabilities = isFailure(refused)
    ? (refused.issues ?? []).map(({ path, reason, suggestion }) => {
        const steps = ["capabilities", ...path.split("/").slice(1).map(asStep)];
        return { path: place(steps), reason: `${keyText(steps)} ${reason}`, ...defined({ suggestion }) };
      })
    : [];
  return [
    ...missing,
    ...binding,
    ...secret,
    ...capabilities,
    ...policyIssues(config),
    ...domainIssues(config),
  ];
}

function placeIn(read: ConfigReading, path: Step[]): string {
  const origin = read.originOf(path);
  return origin.kind === "default" ? keyText(path) : originText(origin);
}

const asStep = (step: string): Step => (/^\d+$/.test(step) ? Number(step) : step);

/** What a start would say about the modules of tools. Their code is loaded for it, that of scripts in a sandbox. */
export async function moduleIssues(read: Extract<ConfigReading, { ok: true }>): Promise<Issue[]> {
  const { tools, folder } = read.config;
  const problems = await moduleProblems(read.config);
  return tools.flatMap((entry, index) => {
    const module = typeof entry === "string" ? entry : entry.module;
    return (problems.get(resolve(folder, module)) ?? []).map(({ message, advice, issues = [] }) => ({
      path: placeIn(read, ["tools", index]),
      reason: [message, ...issues.map(({ path, reason }) => `${path} ${reason}`)].join(" "),
      suggestion: advice,
    }));
  });
}

/** Why webhooks could not be signed. The server's own secret is made at the start, so only a configured one is looked at. */
function secretTrouble({ webhooks, folder }: LoadedConfig): Failure | undefined {
  const read = webhooks.secret && configuredWebhookSecrets(webhooks.secret, folder);
  return read && isFailure(read) ? read : undefined;
}

function references({ tools, workspace, tokens, http }: LoadedConfig): Reference[] {
  const modules = tools.map((entry) => (typeof entry === "string" ? entry : entry.module));
  const files = (path: Step[], list: readonly string[]) =>
    list.map((file, index): Reference => ({ path: [...path, index], file, what: "file" }));
  const single = (path: Step[], file: string | undefined): Reference[] =>
    file === undefined ? [] : [{ path, file, what: "file" }];
  return [
    ...files(["tools"], modules),
    { path: ["workspace"], file: workspace, what: "folder" },
    ...single(["tokens", "jwks"], tokens.jwks),
    ...files(["tokens", "publicKeys"], tokens.publicKeys),
    ...single(["http", "tls", "cert"], http.tls?.cert),
    ...single(["http", "tls", "key"], http.tls?.key),
  ];
}

function trouble(file: string, what: Reference["what"]): string | undefined {
  try {
    const stat = statSync(file, { throwIfNoEntry: false });
    if (!stat) return `there is no ${file}`;
    if (stat.isDirectory() !== (what === "folder")) return `${file} is no ${what}`;
    accessSync(file, constants.R_OK);
    return undefined;
  } catch (error) {
    return `${file} cannot be read: ${error instanceof Error ? error.message : String(error)}`;
  }
}

/** Of a gateway: what is wrong with its domain package. */
function domainIssues(config: LoadedConfig): Issue[] {
  const read = readConfiguredDomain(config);
  return read && isFailure(read) ? (read.issues ?? []) : [];
}

function policyIssues({ policy, folder }: LoadedConfig): Issue[] {
  return policy.files.flatMap((file) => {
    const loaded = loadPolicyFile(resolve(folder, file));
    return isFailure(loaded) ? (loaded.issues ?? [{ path: file, reason: loaded.message }]) : [];
  });
}
