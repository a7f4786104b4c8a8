import { resolve } from "node:path";
import type { Tools } from "@sallyport/engine";
import { lifecycleAt } from "@sallyport/engine/host";
import type { Quarantine, ToolRecord } from "@sallyport/engine/ports";
import { type Failure, failure, isFailure, SallyportError } from "@sallyport/protocol";
import { Command, InvalidArgumentError } from "commander";
import { refuseInGateway } from "../../gateway/gateway.ts";
import { must } from "../../must.ts";
import { implementationOf } from "../../runtime/tools.ts";
import { configuredModules } from "../../tools/configured-modules.ts";
import { loadModule } from "../../tools/load-module.ts";
import { type Io, table, visible } from "../io.ts";
import { type CommonOptions, Session, withCommonOptions } from "../session.ts";
import { exactReference, type Reference, reference } from "../tool-reference.ts";
import { lintCommand } from "./tools-lint.ts";
import { quarantineCommand, releaseCommand } from "./tools-quarantine.ts";
import { searchCommand } from "./tools-search.ts";

/** `sallyport tools`: what can be called, in which versions, and how it leaves. */
export function toolsCommand(io: Io, finish: (code: number) => void): Command {
  const command = new Command("tools").description(
    "list, search, inspect, lint, add, retire and quarantine tools",
  );
  command.addCommand(listCommand(io));
  command.addCommand(searchCommand(io));
  command.addCommand(showCommand(io));
  command.addCommand(lintCommand(io, finish));
  command.addCommand(addCommand(io));
  command.addCommand(deprecateCommand(io));
  command.addCommand(removeCommand(io));
  command.addCommand(quarantineCommand(io));
  command.addCommand(releaseCommand(io));
  return command;
}

function listCommand(io: Io): Command {
  const command = new Command("list")
    .description("list every tool and version")
    .option("--all", "include removed versions");
  return withCommonOptions(command).action(async (options: CommonOptions & { all?: boolean }) => {
    const session = new Session(options, io);
    const { records, unread } = await session.inCatalogue(async (tools, problems) => ({
      records: tools.list(),
      unread: problems.flatMap(unreadModule),
    }));
    const now = Date.now();
    const shown = records.filter(
      (record) => options.all || lifecycleAt(record.retirement, now) !== "removed",
    );
    session.output.result([...shown.map((record) => summary(record, now)), ...unread], () =>
      listText(shown, unread, now),
    );
  });
}

/** A module whose tools are not known, because its code runs only in a sandbox and there is none. */
interface UnreadModule {
  module: string;
  lifecycle: "manifest not read";
  problem: Pick<Failure, "code" | "message">;
}

function unreadModule({ code, message, details }: Failure): UnreadModule[] {
  if (typeof details?.module !== "string" || details.manifest !== "not read") return [];
  return [{ module: details.module, lifecycle: "manifest not read", problem: { code, message } }];
}

function summary({ manifest, retirement, manifestHash, quarantine }: ToolRecord, now: number) {
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
    ...(quarantine && { quarantine }),
  };
}

function listText(records: ToolRecord[], unread: UnreadModule[], now: number): string {
  const header = ["TOOL", "VERSION", "LIFECYCLE", "OPERATIONS", "DESCRIPTION"];
  const lines = records.map(({ manifest, retirement, quarantine }) => [
    manifest.id,
    manifest.version,
    `${lifecycleAt(retirement, now)}${quarantine ? ", in quarantine" : ""}`,
    Object.keys(manifest.operations).join(", "),
    manifest.description.slice(0, 60),
  ]);
  const rest = unread.map(({ module, lifecycle, problem }) => [module, "", lifecycle, "", problem.code]);
  return table(
    [header, ...lines, ...rest],
    "No tools. Name a module under tools: in sallyport.yaml, or: sallyport tools add ./tool.ts",
  );
}

function showCommand(io: Io): Command {
  const command = new Command("show")
    .description("show one tool's manifest")
    .argument("<tool>", "id, or id@version or id@range", reference);
  return withCommonOptions(command).action(async (tool: Reference, options: CommonOptions) => {
    const session = new Session(options, io);
    const record = await session.inCatalogue(async (tools) => findRecord(tools, tool));
    const { manifest, quarantine } = record;
    if (quarantine) session.output.note(visible(quarantineNote(quarantine)));
    session.output.result(record, () => visible(JSON.stringify(manifest, null, 2)));
  });
}

/** The record of the version a call would get, in quarantine too. */
function findRecord(tools: Tools, { id, version }: Reference): ToolRecord {
  const records = tools.list().filter(({ manifest }) => manifest.id === id);
  const operation = Object.keys(records[0]?.manifest.operations ?? {})[0];
  const found = tools.resolve({ tool: id, ...(version && { version }), ...(operation && { operation }) });
  if (!isFailure(found)) return found.record;
  const kept = found.code === "E3219" && found.details?.version;
  const record = records.find(({ manifest }) => manifest.version === kept);
  if (record) return record;
  throw new SallyportError(found);
}

function quarantineNote({ at, by, reason, callId }: Quarantine): string {
  const call = callId === undefined ? "" : ` (call ${callId})`;
  return `! In quarantine since ${new Date(at).toISOString()} by ${by}: ${reason}${call}`;
}

/** Added modules run in threads; this one may not leave its sandbox. */
function alreadyConfigured(path: string): SallyportError {
  const message = `${path} is in the configuration with runner: script; its tools are loaded from there.`;
  return new SallyportError(
    failure("E3920", { message, advice: "To run it in a thread, take it out of tools: in sallyport.yaml." }),
  );
}

function addCommand(io: Io): Command {
  const command = new Command("add")
    .description("register the tools of a module and load them from now on")
    .argument("<module>", "path of a module that exports tools made with defineTool");
  return withCommonOptions(command).action(async (path: string, options: CommonOptions) => {
    const session = new Session(options, io);
    // Before the module is loaded: its top level is code too.
    refuseInGateway(session.config, "`sallyport tools add`");
    const file = resolve(io.cwd, path);
    if (configuredModules(session.config).get(file) === "script") throw alreadyConfigured(path);
    const { moduleUrl, tools } = await loadModule(file);
    const added = await session.inRuntime(async ({ engine }) => {
      const records = [];
      for (const tool of tools) {
        const { manifest } = tool;
        const given = {
          implementation: implementationOf(tool, { runner: "thread", moduleUrl }),
          module: file,
          onDuplicate: "refuse" as const,
        };
        const registered = must(await engine.tools.register(manifest, given));
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
    .description("deprecate a version; every answer warns its callers")
    .argument("<tool@version>", "exactly one version", exactReference)
    .option("--replacement <version>", "the version to move to")
    .option("--guidance <text>", "how to move")
    .option("--days <n>", "days until version ranges skip it (default: 90)", days);
  return withCommonOptions(command).action(
    async (tool: { id: string; version: string }, flags: DeprecateFlags) => {
      const session = new Session(flags, io);
      const { replacement, guidance, days: warningDays } = flags;
      const changed = await session.withEngine((desk) =>
        desk.tools.deprecate(tool.id, tool.version, {
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
    .description("remove a version; refused until callers were warned long enough")
    .argument("<tool@version>", "exactly one version", exactReference)
    .option("--force", "remove it although callers were not warned long enough");
  return withCommonOptions(command).action(
    async (tool: { id: string; version: string }, flags: CommonOptions & { force?: boolean }) => {
      const session = new Session(flags, io);
      const force = flags.force === true;
      const changed = await session.withEngine((desk) => desk.tools.remove(tool.id, tool.version, { force }));
      showChange(changed, session, "Removed");
    },
  );
}

function showChange(changed: ToolRecord | Failure, session: Session, verb: string): void {
  if (isFailure(changed)) throw new SallyportError(changed);
  const { manifest, retirement } = changed;
  const move = retirement.replacement ? ` Callers are sent to ${retirement.replacement}.` : "";
  session.output.result(
    summary(changed, Date.now()),
    () => `${verb} ${manifest.id} ${manifest.version}.${move}`,
  );
}
