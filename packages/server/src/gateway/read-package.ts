import {
  createSchemaCompiler,
  decodeManifest,
  hostsWithin,
  readHostPattern,
  YES,
} from "@sallyport/engine/host";
import {
  completePolicies,
  type DomainManifest,
  type DomainManifestTool,
  type DomainPolicies,
  domainManifestField,
  domainPoliciesField,
  domainSemver,
  type Failure,
  type Field,
  failure,
  type Issue,
  isJsonObject,
  type JsonObject,
  type JsonSchema,
  nearestName,
  parseJsonObject,
  type ToolManifest,
} from "@sallyport/protocol";
import { type PackageFile, PackageFiles } from "./package-files.ts";
import { toolManifestOf } from "./tool-manifest.ts";

const MANIFEST = "manifest.yaml";
const POLICIES = "policies.yaml";
const MAX_ISSUES = 50;
/** Finding a place takes as long as the file is: a package full of mistakes is not looked through to its end. */
const MOST_FOUND = 1_000;

/** A domain package without a fault. */
export interface DomainPackage {
  /** Where it really is. */
  folder: string;
  id: string;
  /** As the package writes it; its tools have it completed to SemVer. */
  version: string;
  tools: readonly ToolManifest[];
  policies: DomainPolicies;
}

interface ReadOptions {
  /** What the environment says the domain is (DOMAIN_ID); anything when undefined. */
  expectedId?: string | undefined;
  /** Other addresses for workers (WORKER_ADDRESSES), as JSON: `{"BASE_URL OF THE MANIFEST": "ADDRESS"}`. */
  addresses?: string | undefined;
}

/**
 * Reads a domain package (AX-PKG-1). Every fault is told at once, each with file, line and column, in one E3919; there is no
 * such thing as a part of a package.
 */
export function readDomainPackage(folder: string, options: ReadOptions = {}): DomainPackage | Failure {
  try {
    const reading = new Reading(new PackageFiles(folder), options);
    const found = reading.read();
    return found && reading.issues.length === 0 ? found : wrongPackage(folder, reading.issues);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return wrongPackage(folder, [{ path: folder, reason: `cannot be read: ${why}` }]);
  }
}

function wrongPackage(folder: string, issues: readonly Issue[]): Failure {
  const count = issues.length < MOST_FOUND ? `${issues.length}` : `${MOST_FOUND} or more`;
  const places = issues.length === 1 ? "one place" : `${count} places`;
  return failure("E3919", {
    message: `The domain package ${folder} is wrong in ${places}.`,
    advice: "Correct each place; `sallyport domain check` looks at the package without starting anything.",
    issues: issues.toSorted((a, b) => compareText(sortKey(a), sortKey(b))).slice(0, MAX_ISSUES),
  });
}

/** Files by name, and in each from top to bottom, which is how a person goes through them. */
function sortKey({ path }: Issue): string {
  return path.replaceAll(/\d+/g, (number) => number.padStart(7, "0"));
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** What is wrong at a place, and what would be right. */
interface Said {
  reason: string;
  suggestion?: string | undefined;
}

type Path = readonly PropertyKey[];

/** One look at a package; `issues` grows. */
class Reading {
  readonly issues: Issue[] = [];
  readonly #files: PackageFiles;
  readonly #expectedId: string | undefined;
  readonly #addresses: JsonObject;
  readonly #schemas = createSchemaCompiler();

  constructor(files: PackageFiles, { expectedId, addresses }: ReadOptions) {
    this.#files = files;
    this.#expectedId = expectedId;
    this.#addresses = this.#readAddresses(addresses);
  }

  read(): DomainPackage | undefined {
    const manifestFile = this.#open(MANIFEST);
    const policiesFile = this.#open(POLICIES);
    const manifest = manifestFile && this.#judgeManifest(manifestFile);
    const written =
      policiesFile && this.#judge(policiesFile, domainPoliciesField, policiesFile.yaml.value ?? {});
    if (!manifest || !manifestFile) return undefined;
    this.#checkIds(manifest, manifestFile);
    const policies = completePolicies(written ?? {});
    if (policiesFile) this.#checkPolicies(policies, policiesFile, manifest);
    const tools = manifest.tools.map((tool, index) => {
      const at = { file: manifestFile, path: ["tools", index] };
      this.#checkTool(tool, at, policies);
      return this.#toolManifest(tool, at, { manifest, policies });
    });
    const { domain_id: id, version } = manifest;
    const usable = tools.filter((tool) => tool !== undefined);
    return { folder: this.#files.folder, id, version, tools: usable, policies };
  }

  #judgeManifest(file: PackageFile): DomainManifest | undefined {
    const manifest = this.#judge(file, domainManifestField, file.yaml.value);
    return manifest && { ...manifest, tools: manifest.tools.map((tool) => this.#moved(tool)) };
  }

  /** The tool with the address that its worker has here. */
  #moved(tool: DomainManifestTool): DomainManifestTool {
    if (tool.kind !== "service_worker") return tool;
    const address = this.#addresses[tool.transport.base_url];
    return typeof address === "string"
      ? { ...tool, transport: { ...tool.transport, base_url: address } }
      : tool;
  }

  #readAddresses(text = "{}"): JsonObject {
    const read = parseJsonObject(text);
    if (read && Object.values(read).every((address) => typeof address === "string")) return read;
    const suggestion = 'Write {"http://tool-firecrawl:8080": "http://127.0.0.1:8080"}.';
    this.issues.push({ path: "WORKER_ADDRESSES", reason: "is no JSON object of addresses", suggestion });
    return {};
  }

  #open(name: string): PackageFile | undefined {
    const found = this.#files.read(name);
    if ("yaml" in found) return found;
    if ("issues" in found) this.issues.push(...found.issues);
    else this.issues.push({ path: name, ...found.unusable, suggestion: MISSING[name] ?? "" });
    return undefined;
  }

  #judge<T>(file: PackageFile, field: Field<T>, value: unknown): T | undefined {
    const found: Issue[] = [];
    if (field(value, "", found)) return value;
    for (const { path, reason, suggestion } of found) {
      const steps = path.split("/").slice(1).map(plainStep);
      const said = inOurWords({ steps, reason, suggestion }, value);
      this.#say(file, steps, said);
    }
    return undefined;
  }

  #say(file: PackageFile, path: Path, { reason, suggestion }: Said): void {
    if (this.issues.length >= MOST_FOUND) return;
    const { line, column } = file.yaml.find(path);
    this.issues.push({ path: `${file.name}:${line}:${column}`, reason, ...(suggestion && { suggestion }) });
  }

  #checkIds({ domain_id, tools }: DomainManifest, file: PackageFile): void {
    const expected = this.#expectedId;
    if (expected !== undefined && expected !== domain_id) {
      const reason = `domain_id is "${domain_id}", and the variable DOMAIN_ID says "${expected}"`;
      this.#say(file, ["domain_id"], {
        reason,
        suggestion: "Load the package that is meant, or correct one of them.",
      });
    }
    const seen = new Map<string, number>();
    for (const [index, { tool_id }] of tools.entries()) {
      const first = seen.get(tool_id);
      if (first === undefined) seen.set(tool_id, index);
      else {
        const { line } = file.yaml.find(["tools", first, "tool_id"]);
        const reason = `the tool "${tool_id}" stands here a second time; the first is in line ${line}`;
        this.#say(file, ["tools", index, "tool_id"], {
          reason,
          suggestion: "Give each tool an id of its own.",
        });
      }
    }
  }

  #checkPolicies(policies: DomainPolicies, file: PackageFile, { tools }: DomainManifest): void {
    const known = tools.map(({ tool_id }) => tool_id);
    for (const id of Object.keys(policies.perToolMaxInflight)) {
      if (known.includes(id)) continue;
      const path = ["concurrency", "per_tool_max_inflight", id];
      this.#say(file, path, {
        reason: `there is no tool "${id}" in the manifest`,
        suggestion: didYouMean(id, known),
      });
    }
    for (const [index, host] of (policies.egressAllowlist ?? []).entries())
      this.#checkHost(host, { file, path: ["network", "egress_allowlist", index] });
  }

  #checkTool(tool: DomainManifestTool, { file, path }: Place, { egressAllowlist }: DomainPolicies): void {
    if (tool.kind === "service_worker") this.#checkBaseUrl(tool.transport.base_url, { file, path });
    else {
      for (const [index, word] of tool.command.entries()) {
        const trouble = word.startsWith("./") && this.#files.trouble(word, "file");
        if (trouble) this.#say(file, [...path, "command", index], trouble);
      }
    }
    for (const [index, host] of (tool.egress_allowlist ?? []).entries())
      this.#checkHost(host, { file, path: [...path, "egress_allowlist", index] }, egressAllowlist);
    if (tool.image === undefined) return;
    const trouble =
      this.#files.trouble(tool.image, "folder") ?? this.#files.trouble(`${tool.image}/Dockerfile`, "file");
    if (trouble) this.#say(file, [...path, "image"], trouble);
  }

  #checkBaseUrl(text: string, { file, path }: Place): void {
    const url = URL.canParse(text) ? new URL(text) : undefined;
    const isUsable = url && url.username === "" && url.password === "" && readHostPattern(url.host);
    if (isUsable) return;
    const reason =
      url?.username || url?.password ? "base_url holds a credential" : `base_url: "${text}" is no address`;
    const suggestion = "Write scheme, host and port, such as http://tool-firecrawl:8080.";
    this.#say(file, [...path, "transport", "base_url"], { reason, suggestion });
  }

  #checkHost(text: string, { file, path }: Place, within?: readonly string[]): void {
    const host = readHostPattern(text);
    if (!host) {
      const suggestion = "Write host or host:port, such as api.example.com:443.";
      this.#say(file, path, { reason: `"${text}" names no host`, suggestion });
      return;
    }
    const isWithin = within?.some((one) => {
      const outer = readHostPattern(one);
      return outer && hostsWithin(host, outer) === YES;
    });
    if (isWithin !== false) return;
    const reason = `"${text}" is not among network.egress_allowlist of ${POLICIES}`;
    this.#say(file, path, {
      reason,
      suggestion: "Take it away here, or add it there if it is meant to be reached.",
    });
  }

  #toolManifest(
    tool: DomainManifestTool,
    { file, path }: Place,
    { manifest, policies }: { manifest: DomainManifest; policies: DomainPolicies },
  ): ToolManifest | undefined {
    const before = this.issues.length;
    const schemas = {
      input: this.#schema(tool.input_schema_ref, { file, path: [...path, "input_schema_ref"] }),
      output: this.#schema(tool.output_schema_ref, { file, path: [...path, "output_schema_ref"] }),
    };
    const domain = {
      id: manifest.domain_id,
      version: manifest.version,
      semver: domainSemver(manifest.version),
    };
    if (this.issues.length > before) return undefined;
    const decoded = decodeManifest(toolManifestOf(tool, { domain, policies, schemas }), this.#schemas);
    if (decoded.ok) return decoded.manifest;
    for (const { path: where, reason, suggestion } of decoded.failure.issues ?? [])
      this.#say(file, path, { reason: `${where} ${reason}`, suggestion });
    return undefined;
  }

  #schema(name: string | undefined, { file, path }: Place): JsonSchema | undefined {
    if (name === undefined) return undefined;
    const found = this.#files.read(name);
    if ("unusable" in found) {
      this.#say(file, path, found.unusable);
      return undefined;
    }
    if ("issues" in found) {
      this.issues.push(...found.issues);
      return undefined;
    }
    const { value } = found.yaml;
    if (!isJsonObject(value)) {
      this.#say(found, [], { reason: "is no JSON Schema: it has to be an object" });
      return undefined;
    }
    const wrong = this.#schemas.check(value);
    for (const issue of wrong?.issues ?? (wrong ? [{ path: "", reason: wrong.message }] : []))
      this.#say(found, issue.path.split("/").slice(1).map(plainStep), {
        reason: `${issue.path || "the schema"} ${issue.reason}`,
        suggestion: issue.suggestion,
      });
    return value;
  }
}

interface Place {
  file: PackageFile;
  path: Path;
}

const MISSING: Readonly<Record<string, string>> = {
  [MANIFEST]: "A domain package is a folder with manifest.yaml and policies.yaml.",
  [POLICIES]: "Make the file; an empty one means every default.",
};

/** A step of a JSON Pointer. */
function plainStep(step: string): string {
  return step.replaceAll("~1", "/").replaceAll("~0", "~");
}

/** A message's words, for somebody who looks at a file: the key, what was found, and what was probably meant. */
function inOurWords(
  { steps, reason, suggestion }: { steps: readonly string[]; reason: string; suggestion: string | undefined },
  root: unknown,
): Said {
  const key = steps.at(-1) ?? "the file";
  const known = /^Known here: (.+)\.$/.exec(suggestion ?? "")?.[1]?.split(", ");
  if (reason === "is not a known field" && known) {
    return { reason: `unknown key "${key}"`, suggestion: didYouMean(key, known) };
  }
  const found = steps.reduce<unknown>(
    (at, step) => (at === null || at === undefined ? undefined : Reflect.get(Object(at), step)),
    root,
  );
  const words = /must be one of (.+)$/.exec(reason)?.[1]?.split(", ");
  if (words && typeof found === "string") {
    return {
      reason: `${key}: "${found}" is none of ${words.join(", ")}`,
      suggestion: didYouMean(found, words),
    };
  }
  const isUnquoted = typeof found === "number" && reason.includes("quotation marks");
  return {
    reason: `${key} ${reason}`,
    ...(isUnquoted ? { suggestion: `Write ${key}: "${found}".` } : { suggestion }),
  };
}

function didYouMean(name: string, known: readonly string[]): string {
  const near = nearestName(name, known);
  return near === undefined ? `Known: ${known.join(", ")}.` : `Did you mean "${near}"?`;
}
