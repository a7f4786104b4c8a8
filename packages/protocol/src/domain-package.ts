import {
  absentOr,
  anyText,
  described,
  exactRecord,
  type Field,
  fieldOf,
  flag,
  type Infer,
  listOf,
  mapOf,
  matching,
  nameText,
  oneOf,
  positiveInteger,
  reject,
  textUpTo,
  variants,
  wholeNumber,
} from "./fields.ts";
import { RISKS, SIDE_EFFECTS } from "./manifest.ts";
import { publishedSchema, setOf, tagsField, toolIdField } from "./manifest-fields.ts";

/*
 * The two files of a domain package (AX-PKG-1, AX-POL-1) as people write them. The reader of the server says what is wrong
 * with line and column; the published schemas say the same to editors.
 */

const DAY_SECONDS = 86_400;
const timeoutSeconds = wholeNumber("whole seconds, from 1 to a day", { minimum: 1, maximum: DAY_SECONDS });
const egressList = setOf(
  described(textUpTo(300), "host or host:port; *.example.com stands for every host below it."),
);
const fileInPackage = textUpTo(1_024);
const httpPath = matching(/^\/[^\s?#]{0,1023}$/, "a path that begins with /");

const ofEveryTool = {
  tool_id: toolIdField,
  display_name: absentOr(nameText, "Name for people; the id when left out."),
  description: absentOr(textUpTo(2_000), "What the tool does, for whoever or whatever chooses it."),
  capabilities: absentOr(setOf(nameText), "Words for what it can do, to find it by."),
  timeout_sec: absentOr(
    timeoutSeconds,
    "How long one run may take; the default of the policies when left out.",
  ),
  input_schema_ref: absentOr(
    fileInPackage,
    "File with the JSON Schema of the input; any object when left out.",
  ),
  output_schema_ref: absentOr(
    fileInPackage,
    "File with the JSON Schema of the output; not checked when left out.",
  ),
  egress_allowlist: absentOr(egressList, "Where the worker may connect to."),
  image: absentOr(fileInPackage, "Folder with the Dockerfile of the worker's image."),
  side_effects: absentOr(oneOf(SIDE_EFFECTS), "What a run can change; external when left out."),
  idempotent: absentOr(flag, "Running it twice has the effect of running it once."),
  requires_approval: absentOr(flag, "A person must approve each run."),
  risk: absentOr(oneOf(RISKS), "How much harm a wrong run can do."),
  tags: absentOr(tagsField),
};

const transportField = exactRecord({
  type: described(oneOf(["http"]), "How the worker is reached."),
  base_url: described(
    matching(/^https?:\/\/[^\s?#]{1,2000}$/, "an http or https address without a query"),
    "Where the worker listens, such as http://tool-firecrawl:8080.",
  ),
  endpoint: absentOr(httpPath, "Path that takes runs; /run when left out."),
  health: absentOr(httpPath, "Path that says whether the worker is well; /healthz when left out."),
});

const toolField = variants("kind", {
  service_worker: exactRecord({
    ...ofEveryTool,
    kind: described(oneOf(["service_worker"]), "A service that runs all the time."),
    transport: transportField,
  }),
  job_worker: exactRecord({
    ...ofEveryTool,
    kind: described(oneOf(["job_worker"]), "A command, started in the sandbox for each run."),
    command: described(
      filled(listOf(textUpTo(4_096))),
      "Program and arguments, started in the folder of the package. What begins with ./ is a file of it.",
    ),
    env: absentOr(mapOf(anyText), "Variables of the command; never secrets."),
  }),
});
/** One entry of `tools` as it is written. */
export type DomainManifestTool = Infer<typeof toolField>;

export const domainManifestField = exactRecord({
  domain_id: described(
    matching(/^[A-Za-z][A-Za-z0-9_.-]{0,127}$/, "a name of letters, digits, _, . and -"),
    "Names the domain.",
  ),
  version: described(
    matching(
      /^(?:0|[1-9]\d{0,8})(?:\.(?:0|[1-9]\d{0,8})){0,2}$/,
      'a version in quotation marks, such as "0.1" or "1.2.3"',
    ),
    "Raised with every change of a tool.",
  ),
  description: absentOr(textUpTo(2_000), "What the domain is for."),
  tools: described(filled(listOf(toolField)), "The tools, at least one."),
});
/** `manifest.yaml` as it is written. */
export type DomainManifest = Infer<typeof domainManifestField>;

const LOG_LEVELS = ["DEBUG", "INFO", "WARN", "ERROR"] as const;

export const domainPoliciesField = exactRecord({
  concurrency: absentOr(
    exactRecord({
      max_inflight: absentOr(positiveInteger, "Runs at once, 8 when left out."),
      per_tool_max_inflight: absentOr(
        mapOf(positiveInteger),
        "Runs at once by tool; 1 for a tool not listed.",
      ),
      max_queued: absentOr(positiveInteger, "Runs that may wait for their turn, 1000 when left out."),
    }),
  ),
  timeouts: absentOr(
    exactRecord({
      default_tool_timeout_sec: absentOr(timeoutSeconds, "Of tools that say none, 60 when left out."),
    }),
  ),
  network: absentOr(
    exactRecord({
      default_egress_policy: absentOr(
        oneOf(["deny", "allow"]),
        "What a tool without an egress_allowlist may reach: nothing (when left out), or anything.",
      ),
      egress_allowlist: absentOr(egressList, "Hosts that tools may name at all; any when left out."),
    }),
  ),
  logging: absentOr(
    exactRecord({
      level: absentOr(oneOf(LOG_LEVELS), "Lowest level of the gateway's log, INFO when left out."),
      include_request_body: absentOr(
        flag,
        "Log the input of each request to the run route, redacted; false when left out.",
      ),
    }),
  ),
});

/** `policies.yaml` with every default filled in. */
export interface DomainPolicies {
  maxInflight: number;
  perToolMaxInflight: Readonly<Record<string, number>>;
  maxQueued: number;
  defaultTimeoutSec: number;
  defaultEgress: "deny" | "allow";
  /** Undefined: tools may name any host. */
  egressAllowlist: readonly string[] | undefined;
  logLevel: (typeof LOG_LEVELS)[number];
  logsInput: boolean;
}

/** Fills in what `policies.yaml` leaves out. */
export function completePolicies(written: Infer<typeof domainPoliciesField>): DomainPolicies {
  const { concurrency, timeouts, network, logging } = written;
  return {
    maxInflight: concurrency?.max_inflight ?? 8,
    perToolMaxInflight: concurrency?.per_tool_max_inflight ?? {},
    maxQueued: concurrency?.max_queued ?? 1_000,
    defaultTimeoutSec: timeouts?.default_tool_timeout_sec ?? 60,
    defaultEgress: network?.default_egress_policy ?? "deny",
    egressAllowlist: network?.egress_allowlist,
    logLevel: logging?.level ?? "INFO",
    logsInput: logging?.include_request_body ?? false,
  };
}

/** A domain's version completed to SemVer, as its tools have it: "0.1" is 0.1.0. */
export function domainSemver(version: string): string {
  return [...version.split("."), "0", "0"].slice(0, 3).join(".");
}

export const DOMAIN_MANIFEST_SCHEMA = publishedSchema(
  "domain-manifest",
  "Domain package: manifest.yaml",
  domainManifestField,
);
export const DOMAIN_POLICIES_SCHEMA = publishedSchema(
  "domain-policies",
  "Domain package: policies.yaml",
  domainPoliciesField,
);

/** The same list with at least one entry. */
function filled<T>(list: Field<T[]>): Field<T[]> {
  return fieldOf({ ...list.schema, minItems: 1 }, (value, path, issues): value is T[] => {
    if (!list(value, path, issues)) return false;
    return value.length > 0 || reject(issues, path, "must have at least one entry");
  });
}
