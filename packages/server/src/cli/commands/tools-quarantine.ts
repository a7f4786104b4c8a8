import { lifecycleAt } from "@sallyport/engine/host";
import type { ToolRecord } from "@sallyport/engine/ports";
import { type Failure, failure, SallyportError } from "@sallyport/protocol";
import { Command } from "commander";
import type { EngineAccess } from "../../desk/index.ts";
import { must } from "../../must.ts";
import { type Io, visible } from "../io.ts";
import { personWords } from "../person-text.ts";
import { type CommonOptions, Session, withCommonOptions } from "../session.ts";
import { type Reference, reference } from "../tool-reference.ts";

interface QuarantineFlags extends CommonOptions {
  toolVersion?: string;
}

export function quarantineCommand(io: Io): Command {
  const command = new Command("quarantine")
    .description("block a tool for every caller until a person releases it")
    .argument("<tool>", "id, or id@version; without a version all of them", reference)
    .option("--tool-version <version>", "only this version")
    .requiredOption("--reason <text>", "why; goes on record, callers are not told", personWords);
  return withCommonOptions(command).action(
    async (tool: Reference, flags: QuarantineFlags & { reason: string }) => {
      const session = new Session(flags, io);
      const order = { reason: flags.reason, by: session.caller({}).user ?? "operator" };
      await each(
        session,
        { ...tool, version: flags.toolVersion ?? tool.version },
        {
          done: "In quarantine:",
          change: (tools, { id, version }) => tools.quarantine(id, version, order),
        },
      );
    },
  );
}

export function releaseCommand(io: Io): Command {
  const command = new Command("release")
    .description("release a tool from quarantine")
    .argument("<tool>", "id, or id@version; without a version all of them", reference)
    .option("--tool-version <version>", "only this version")
    .requiredOption("--note <text>", "what you found; goes on record", personWords);
  return withCommonOptions(command).action(
    async (tool: Reference, flags: QuarantineFlags & { note: string }) => {
      const session = new Session(flags, io);
      const order = { note: flags.note, by: session.caller({}).user ?? "operator" };
      await each(
        session,
        { ...tool, version: flags.toolVersion ?? tool.version },
        {
          done: "Can be called again:",
          change: (tools, { id, version }) => tools.release(id, version, order),
        },
      );
    },
  );
}

interface Act {
  done: string;
  change(
    tools: EngineAccess["tools"],
    version: { id: string; version: string },
  ): Promise<ToolRecord | Failure>;
}

/** Does it to the named version, or to every version of the tool that is still there. */
async function each(session: Session, tool: Reference, { done, change }: Act): Promise<void> {
  const changed = await session.withEngine(async ({ tools }) => {
    const records: ToolRecord[] = [];
    for (const version of await versionsOf(tools, tool)) {
      const record = must(await change(tools, { id: tool.id, version }));
      records.push(record);
    }
    return records;
  });
  const document = changed.map(({ manifest: { id, version }, quarantine }) => ({
    id,
    version,
    quarantine: quarantine ?? null,
  }));
  session.output.result(document, () =>
    visible(document.map(({ id, version }) => `${done} ${id} ${version}`).join("\n")),
  );
}

async function versionsOf(tools: EngineAccess["tools"], { id, version }: Reference): Promise<string[]> {
  if (version !== undefined) return [version];
  const now = Date.now();
  const there = (await tools.list()).filter(
    ({ manifest, retirement }) => manifest.id === id && lifecycleAt(retirement, now) !== "removed",
  );
  if (there.length > 0) return there.map(({ manifest }) => manifest.version);
  throw new SallyportError(failure("E3001", { message: `There is no tool ${id}.` }));
}
