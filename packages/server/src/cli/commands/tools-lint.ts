import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { lintSchema, type SchemaFinding } from "@sallyport/engine";
import { createSchemaCompiler, decodeManifest } from "@sallyport/engine/host";
import { failure, SallyportError, type ToolManifest } from "@sallyport/protocol";
import { Command } from "commander";
import type { LoadedConfig } from "../../config/load.ts";
import { must } from "../../must.ts";
import { configuredModules } from "../../tools/configured-modules.ts";
import { loadModule } from "../../tools/load-module.ts";
import { type ScriptModule, ScriptModules } from "../../tools/script-modules.ts";
import { EXIT } from "../exit-codes.ts";
import { type Io, visible } from "../io.ts";
import { unreadable } from "../read-input.ts";
import { type CommonOptions, Session, withCommonOptions } from "../session.ts";

interface LintResult {
  tool: string;
  operation: string;
  schema: "input" | "output";
  findings: SchemaFinding[];
}

export function lintCommand(io: Io, finish: (code: number) => void): Command {
  const command = new Command("lint")
    .description("check schemas against the quality rules")
    .argument("[what]", "a tool id, a module (.ts, .js) or a manifest file (.json); default: every tool");
  return withCommonOptions(command).action(async (what: string | undefined, options: CommonOptions) => {
    const session = new Session(options, io);
    const results = (await manifestsFor(what, session)).flatMap(lintManifest);
    const wrong = results.some(({ findings }) => findings.some(({ severity }) => severity === "error"));
    session.output.result(results, () => lintText(results));
    finish(wrong ? EXIT.toolFailed : EXIT.success);
  });
}

async function manifestsFor(what: string | undefined, session: Session): Promise<ToolManifest[]> {
  if (what?.endsWith(".json")) return [await readManifest(resolve(session.io.cwd, what))];
  if (what !== undefined && /\.[cm]?[jt]s$/.test(what)) {
    return await modulesManifests(resolve(session.io.cwd, what), session);
  }
  const records = await session.inCatalogue(async (tools) => tools.list());
  const wanted = records.filter(({ manifest }) => what === undefined || manifest.id === what);
  if (what !== undefined && wanted.length === 0)
    throw new SallyportError(failure("E3001", { message: `There is no tool ${what}.` }));
  return wanted.map(({ manifest }) => manifest);
}

async function modulesManifests(path: string, { config }: Session): Promise<ToolManifest[]> {
  const isScript = configuredModules(config).get(path) === "script";
  const { tools } = isScript ? await readScript(path, config) : await loadModule(path);
  return tools.map(({ manifest }) => manifest);
}

async function readScript(path: string, config: LoadedConfig): Promise<ScriptModule> {
  const scripts = new ScriptModules(config, { keep: false });
  return must(await scripts.read(path).finally(() => scripts.close()));
}

async function readManifest(file: string): Promise<ToolManifest> {
  let value: unknown;
  try {
    value = JSON.parse(await readFile(file, "utf8"));
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw unreadable(file, error);
    throw new SallyportError(failure("E3008", { message: `${file} is not JSON: ${error.message}` }));
  }
  const decoded = decodeManifest(value, createSchemaCompiler());
  if (!decoded.ok) throw new SallyportError(decoded.failure);
  return decoded.manifest;
}

function lintManifest({ id, version, operations }: ToolManifest): LintResult[] {
  const compiler = createSchemaCompiler();
  const check = (schema: unknown) => compiler.check(schema);
  const tool = `${id}@${version}`;
  return Object.entries(operations).flatMap(([operation, { inputSchema, outputSchema }]) => [
    { tool, operation, schema: "input" as const, findings: lintSchema(inputSchema, check) },
    ...(outputSchema
      ? [{ tool, operation, schema: "output" as const, findings: lintSchema(outputSchema, check) }]
      : []),
  ]);
}

function lintText(results: LintResult[]): string {
  const lines = results.flatMap(({ tool, operation, schema, findings }) =>
    findings.map(
      ({ path, severity, message, suggestion }) =>
        `${severity}  ${tool} ${operation} ${schema}${path}: ${message} — ${suggestion}`,
    ),
  );
  return lines.length > 0 ? visible(lines.join("\n")) : `${results.length} schemas, nothing to improve.`;
}
