import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import {
  createSchemaCompiler,
  decodeManifest,
  lifecycleAt,
  lintSchema,
  type SchemaFinding,
  type ToolRecord,
} from "@sallyport/engine";
import { failure, isFailure, SallyportError, type ToolManifest } from "@sallyport/protocol";
import { Command, InvalidArgumentError } from "commander";
import { loadModule } from "../../tools/load-module.ts";
import { EXIT } from "../exit-codes.ts";
import { type Io, table, visible } from "../io.ts";
import { type CommonOptions, Session, withCommonOptions } from "../session.ts";

/** `sallyport tools`: what can be called, in which versions, and how it leaves. */
export function toolsCommand(io: Io, finish: (code: number) => void): Command {
  const command = new Command("tools").description("list, inspect, lint, add and retire tools");
  command.addCommand(listCommand(io));
  command.addCommand(showCommand(io));
  command.addCommand(lintCommand(io, finish));
  command.addCommand(addCommand(io));
  command.addCommand(deprecateCommand(io));
  command.addCommand(removeCommand(io));
  return command;
}

function listCommand(io: Io): Command {
  const command = new Command("list")
    .description("every tool and version")
    .option("--all", "removed versions too");
  return withCommonOptions(command).action(async (options: CommonOptions & { all?: boolean }) => {
    const session = new Session(options, io);
    const records = await session.inCatalogue(async (tools) => tools.list());
    const now = Date.now();
    const shown = records.filter(
      (record) => options.all || lifecycleAt(record.retirement, now) !== "removed",
    );
    session.output.result(
      shown.map((record) => summary(record, now)),
      () => listText(shown, now),
    );
  });
}

function summary({ manifest, retirement, manifestHash }: ToolRecord, now: number) {
  const { id, version, name, description, category, tags } = manifest;
  const operations = Object.keys(manifest.operations);
  return {
    id,
    version,
    name,
    description,
    category,
    tags,
    operations,
    lifecycle: lifecycleAt(retirement, now),
    ...retirement,
    manifestHash,
  };
}

function listText(records: ToolRecord[], now: number): string {
  const header = ["TOOL", "VERSION", "LIFECYCLE", "OPERATIONS", "DESCRIPTION"];
  const lines = records.map(({ manifest, retirement }) => [
    manifest.id,
    manifest.version,
    lifecycleAt(retirement, now),
    Object.keys(manifest.operations).join(", "),
    manifest.description.slice(0, 60),
  ]);
  return table(
    [header, ...lines],
    "No tools. Name a module under tools: in sallyport.yaml, or: sallyport tools add ./tool.ts",
  );
}

function showCommand(io: Io): Command {
  const command = new Command("show")
    .description("one tool's manifest")
    .argument("<tool>", "id, or id@version or id@range", reference);
  return withCommonOptions(command).action(async (tool: Reference, options: CommonOptions) => {
    const session = new Session(options, io);
    const record = await session.inCatalogue(async (tools) => {
      const known = tools.list().find(({ manifest }) => manifest.id === tool.id);
      const operation = known && Object.keys(known.manifest.operations)[0];
      const found = tools.resolve({
        tool: tool.id,
        ...(tool.version && { version: tool.version }),
        ...(operation && { operation }),
      });
      if (isFailure(found)) throw new SallyportError(found);
      return found.record;
    });
    session.output.result(record, () => visible(JSON.stringify(record.manifest, null, 2)));
  });
}

interface Reference {
  id: string;
  version: string | undefined;
}

function reference(text: string): Reference {
  const at = text.lastIndexOf("@");
  return at > 0 ? { id: text.slice(0, at), version: text.slice(at + 1) } : { id: text, version: undefined };
}

function exactReference(text: string): { id: string; version: string } {
  const { id, version } = reference(text);
  if (!version) throw new InvalidArgumentError("name the version too: tool@1.2.3");
  return { id, version };
}

interface LintResult {
  tool: string;
  operation: string;
  schema: "input" | "output";
  findings: SchemaFinding[];
}

function lintCommand(io: Io, finish: (code: number) => void): Command {
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
    return (await loadModule(resolve(session.io.cwd, what))).tools.map(({ manifest }) => manifest);
  }
  const records = await session.inCatalogue(async (tools) => tools.list());
  const wanted = records.filter(({ manifest }) => what === undefined || manifest.id === what);
  if (what !== undefined && wanted.length === 0)
    throw new SallyportError(failure("E3001", { message: `There is no tool ${what}.` }));
  return wanted.map(({ manifest }) => manifest);
}

async function readManifest(file: string): Promise<ToolManifest> {
  let value: unknown;
  try {
    value = JSON.parse(await readFile(file, "utf8"));
  } catch (error) {
    throw new SallyportError(
      failure("E3008", { message: `${file} cannot be read as JSON: ${String(error)}` }),
    );
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

function addCommand(io: Io): Command {
  const command = new Command("add")
    .description("register the tools of a module, to be loaded from now on")
    .argument("<module>", "path of a module that exports tools made with defineTool");
  return withCommonOptions(command).action(async (path: string, options: CommonOptions) => {
    const session = new Session(options, io);
    const file = resolve(io.cwd, path);
    const { moduleUrl, tools } = await loadModule(file);
    const added = await session.inHouse(async ({ engine }) => {
      const records = [];
      for (const { manifest } of tools) {
        const given = {
          implementation: { kind: "thread" as const, moduleUrl },
          module: file,
          onDuplicate: "refuse" as const,
        };
        const registered = await engine.tools.register(manifest, given);
        if (isFailure(registered)) throw new SallyportError(registered);
        records.push(registered);
      }
      return records;
    });
    const now = Date.now();
    session.output.result(
      added.map(({ record }) => summary(record, now)),
      () => added.map(({ record, retired }) => addedText(record, retired)).join("\n"),
    );
    for (const { warnings } of added)
      for (const { code, message } of warnings) session.output.note(`! ${code} ${message}`);
  });
}

function addedText({ manifest }: ToolRecord, retired: ToolRecord[]): string {
  const gone = retired.map(({ manifest: old }) => old.version).join(", ");
  return `Added ${manifest.id} ${manifest.version}${gone ? ` (to make room, ${gone} was removed)` : ""}. Grant it in sallyport.yaml to let it run.`;
}

interface DeprecateFlags extends CommonOptions {
  replacement?: string;
  guidance?: string;
  days?: number;
}

function deprecateCommand(io: Io): Command {
  const command = new Command("deprecate")
    .description("announce that a version will go; callers are warned in every answer")
    .argument("<tool@version>", "exactly one version", exactReference)
    .option("--replacement <version>", "the version to move to")
    .option("--guidance <text>", "how to move")
    .option("--days <n>", "days until ranges avoid it (default: 90)", days);
  return withCommonOptions(command).action(
    async (tool: { id: string; version: string }, flags: DeprecateFlags) => {
      const session = new Session(flags, io);
      const { replacement, guidance, days: warningDays } = flags;
      const changed = await session.inHouse(({ engine }) =>
        engine.tools.deprecate(tool.id, tool.version, {
          ...(replacement !== undefined && { replacement }),
          ...(guidance !== undefined && { guidance }),
          ...(warningDays !== undefined && { warningDays }),
        }),
      );
      showChange(changed, session, "Deprecated");
    },
  );
}

function days(text: string): number {
  const count = Number(text);
  if (!Number.isInteger(count) || count < 0 || count > 3_650)
    throw new InvalidArgumentError("a whole number of days");
  return count;
}

function removeCommand(io: Io): Command {
  const command = new Command("remove")
    .description("end a version's life; refused while callers still have to be warned")
    .argument("<tool@version>", "exactly one version", exactReference)
    .option("--force", "although callers have not been warned in full");
  return withCommonOptions(command).action(
    async (tool: { id: string; version: string }, flags: CommonOptions & { force?: boolean }) => {
      const session = new Session(flags, io);
      const force = flags.force === true;
      const changed = await session.inHouse(({ engine }) =>
        engine.tools.remove(tool.id, tool.version, { force }),
      );
      showChange(changed, session, "Removed");
    },
  );
}

function showChange(changed: ToolRecord | ReturnType<typeof failure>, session: Session, verb: string): void {
  if (isFailure(changed)) throw new SallyportError(changed);
  const { manifest, retirement } = changed;
  const move = retirement.replacement ? ` Callers are sent to ${retirement.replacement}.` : "";
  session.output.result(
    summary(changed, Date.now()),
    () => `${verb} ${manifest.id} ${manifest.version}.${move}`,
  );
}
