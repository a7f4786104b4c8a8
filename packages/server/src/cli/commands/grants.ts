import type { GrantRecord } from "@sallyport/engine/ports";
import { failure, SallyportError } from "@sallyport/protocol";
import { Command, Option } from "commander";
import { must } from "../../must.ts";
import { type Io, visible } from "../io.ts";
import { personWords } from "../person-text.ts";
import { type CommonOptions, Session, withCommonOptions } from "../session.ts";
import { grantDocument, grantTable, grantText, stateOf } from "./grant-text.ts";
import { delegateCommand, issueCommand } from "./grants-give.ts";

const HELP = `
Two kinds: a capability grant lets a tool use a capability; a standing grant is an "always allow" that answers a
policy's question beforehand. Neither beats a deny.
  $ sallyport grants list                       what is in force
  $ sallyport grants show GRANT                 everything about one
  $ sallyport grants issue --capability filesystem.read --tool file.read --ttl 24h
  $ sallyport grants revoke GRANT --reason "no longer needed"`;

/** `sallyport grants`: what is allowed beforehand, by whom, how far and until when. */
export function grantsCommand(io: Io): Command {
  const command = new Command("grants")
    .description("list, issue, delegate and revoke grants")
    .addHelpText("after", HELP);
  command.addCommand(listCommand(io));
  command.addCommand(showCommand(io));
  command.addCommand(issueCommand(io));
  command.addCommand(delegateCommand(io));
  command.addCommand(revokeCommand(io));
  return command;
}

interface ListOptions extends CommonOptions {
  kind?: GrantRecord["kind"];
  all?: boolean;
}

function listCommand(io: Io): Command {
  const command = new Command("list")
    .description("list grants in force, oldest first")
    .addOption(new Option("--kind <kind>", "only one kind").choices(["capability", "standing"]))
    .option("--all", "include revoked and expired grants");
  return withCommonOptions(command).action(async (options: ListOptions) => {
    const session = new Session(options, io);
    const now = Date.now();
    const { changed: records } = await session.reading((store) => store.grants.changedSince());
    const shown = records.filter(
      (record) =>
        (options.kind === undefined || record.kind === options.kind) &&
        (options.all === true || stateOf(record, now) === "in force"),
    );
    session.output.result(
      shown.map((record) => grantDocument(record, now)),
      () => grantTable(shown, now),
    );
  });
}

function showCommand(io: Io): Command {
  const command = new Command("show")
    .description("show everything about one grant")
    .argument("<grant>", "id of the grant");
  return withCommonOptions(command).action(async (grantId: string, options: CommonOptions) => {
    const session = new Session(options, io);
    const record = await session.reading((store) => store.grants.get(grantId));
    if (!record) throw new SallyportError(failure("E3221", { message: `There is no grant ${grantId}.` }));
    const now = Date.now();
    session.output.result(grantDocument(record, now), () => grantText(record, now));
  });
}

function revokeCommand(io: Io): Command {
  const command = new Command("revoke")
    .description("revoke a grant and everything delegated from it; calls that depend on it end")
    .argument("<grant>", "id of the grant")
    .requiredOption("--reason <text>", "why; goes on record", personWords);
  return withCommonOptions(command).action(
    async (grantId: string, options: CommonOptions & { reason: string }) => {
      const session = new Session(options, io);
      const by = session.caller({}).user ?? "operator";
      const done = must(
        await session.withEngine((desk) => desk.grants.revoke(grantId, { by, reason: options.reason })),
      );
      const revoked = done.revoked.map((record) => record.grantId);
      session.output.result({ grantId, revoked, ended: done.ended }, () =>
        revokedText(grantId, { revoked, ended: done.ended }),
      );
    },
  );
}

function revokedText(grantId: string, { revoked, ended }: { revoked: string[]; ended: string[] }): string {
  const below = revoked.filter((id) => id !== grantId);
  const lines = [
    revoked.includes(grantId) ? `Revoked ${grantId}.` : `${grantId} was revoked before.`,
    ...below.map((id) => `  with it ${id}, which was delegated from it`),
    ended.length === 0
      ? "No call running here rested on it."
      : `Ended ${ended.length} running call(s): ${ended.join(", ")}`,
  ];
  return visible(lines.join("\n"));
}
