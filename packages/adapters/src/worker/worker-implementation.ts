import type { Implementation, ProcessProgram } from "@sallyport/engine/ports";
import {
  DEFAULT_OPERATION,
  type Failure,
  failure,
  type Issue,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  type ToolManifest,
} from "@sallyport/protocol";

/** What the envelope says of a tool besides its call. */
interface Described extends Implementation {
  readonly domainId: string;
  readonly egressAllowlist: readonly string[];
  /** A swap of the domain drops no call that waits for its turn. */
  readonly outlivesVersion: true;
}

/** A tool of a service: where its requests are posted. */
export interface ServiceImplementation extends Described {
  readonly kind: "worker";
  /** As it was read: names the worker in what is known of its health. */
  readonly baseUrl: string;
  /** Text, so that two implementations can be compared. */
  readonly url: string;
}

/** A tool of a command that is started for each call. */
export interface JobImplementation extends Described {
  readonly kind: "job_worker";
  readonly program: ProcessProgram;
}

const DEFAULT_ENDPOINT = "/run";
/** Of tools that belong to no domain package. */
const DEFAULT_DOMAIN = "default";

/** Reads a service worker's manifest; undefined for other kinds, E3008 when it does not say where the worker is. */
export function bindService(manifest: ToolManifest): ServiceImplementation | Failure | undefined {
  if (manifest.kind !== "service_worker") return undefined;
  const { type, baseUrl = "", endpoint = DEFAULT_ENDPOINT } = manifest.transport ?? {};
  const issues = operationIssues(manifest);
  const url = endpoint.startsWith("/") ? workerUrl(baseUrl, endpoint) : undefined;
  if (type !== "http") issues.push({ path: "/transport/type", reason: "must be http" });
  if (!workerUrl(baseUrl, "/")) issues.push({ path: "/transport/baseUrl", reason: BASE_RULE });
  else if (!url) issues.push({ path: "/transport/endpoint", reason: "must be a path that begins with /" });
  if (!url || issues.length > 0) return unfit(manifest, issues);
  return { kind: "worker", baseUrl: baseName(baseUrl), url: url.href, ...describedBy(manifest) };
}

/** Reads a job worker's manifest: `command` and `env` stand in the metadata of its source. E3008 when they do not. */
export function bindJob(manifest: ToolManifest): JobImplementation | Failure | undefined {
  if (manifest.kind !== "job_worker") return undefined;
  const { command, env = {} } = manifest.source.metadata ?? {};
  const issues = operationIssues(manifest);
  const isCommand = isTexts(command) && command.length > 0 && command[0] !== "";
  if (!isCommand) issues.push({ path: `${METADATA}/command`, reason: "must be a list of texts" });
  if (!isEnvironment(env)) issues.push({ path: `${METADATA}/env`, reason: "must have texts as values" });
  if (!isCommand || !isEnvironment(env) || issues.length > 0) return unfit(manifest, issues);
  const program: ProcessProgram = { command, env, stdin: "json", stdout: "json", success: [0] };
  return { kind: "job_worker", program, ...describedBy(manifest) };
}

const METADATA = "/source/metadata";
const BASE_RULE = "must be an http or https address without credentials, query or fragment";

/** A path below a worker's base address; undefined when that is no plain http or https address. */
export function workerUrl(baseUrl: string, path: string): URL | undefined {
  const base = URL.parse(baseUrl);
  if (!base || !/^https?:$/.test(base.protocol)) return undefined;
  if (base.username !== "" || base.password !== "" || /[?#]/.test(baseUrl)) return undefined;
  return URL.parse(`${baseName(baseUrl)}${path}`) ?? undefined;
}

/** One text for a base address, however it is written. */
export function baseName(baseUrl: string): string {
  return new URL(baseUrl).href.replace(/\/+$/, "");
}

/** The envelope has no place for the name of an operation. */
function operationIssues({ operations }: ToolManifest): Issue[] {
  const others = Object.keys(operations).filter((name) => name !== DEFAULT_OPERATION);
  return others.map((name) => ({
    path: `/operations/${name}`,
    reason: `a worker has the operation ${DEFAULT_OPERATION} only`,
  }));
}

function describedBy({ source, egressAllowlist = [] }: ToolManifest) {
  const domainId = source.metadata?.domain_id;
  const outlivesVersion = true as const;
  return {
    domainId: typeof domainId === "string" ? domainId : DEFAULT_DOMAIN,
    egressAllowlist,
    outlivesVersion,
  };
}

function unfit({ id }: ToolManifest, issues: Issue[]): Failure {
  return failure("E3008", { message: `The manifest of ${id} does not say how its worker is run.`, issues });
}

function isTexts(value: JsonValue | undefined): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === "string");
}

function isEnvironment(value: JsonValue): value is JsonObject & Record<string, string> {
  return isJsonObject(value) && Object.values(value).every((item) => typeof item === "string");
}
