import { backlogsOf, eventSchemas, type SinkBacklog } from "@sallyport/engine/publish";
import { Command } from "commander";
import { sinkNames } from "../../events/index.ts";
import { must } from "../../must.ts";
import { lengthText } from "../duration-text.ts";
import { hint } from "../invoked-as.ts";
import { type Io, Output, table, visible } from "../io.ts";
import { type CommonOptions, Session, withCommonOptions } from "../session.ts";

const HELP = `
Events wait in the outbox until their sink has confirmed them; those of a sink that is down are kept.
  $ sallyport events backlog            what waits for each sink, and since when
  $ sallyport events drop old-kafka     drop what waits for a sink that is configured no more
  $ sallyport events schema             JSON Schema of every event that is published`;

/** `sallyport events`: what waits for the sinks, and what events look like. */
export function eventsCommand(io: Io): Command {
  const command = new Command("events")
    .description("show and drop events that wait for their sink; print their schema")
    .addHelpText("after", HELP);
  command.addCommand(backlogCommand(io));
  command.addCommand(dropCommand(io));
  command.addCommand(schemaCommand(io));
  return command;
}

function backlogCommand(io: Io): Command {
  const command = new Command("backlog").description("list what waits for each sink, and since when");
  return withCommonOptions(command).action(async (options: CommonOptions) => {
    const session = new Session(options, io);
    const names = sinkNames(session.config);
    const backlogs = await session.reading(async ({ outbox }) => backlogsOf(await outbox.backlogs(), names));
    const document = backlogs.map(({ sink, batches, isEstimate = false, oldestAt, isConfigured }) => ({
      sink,
      batches,
      estimated: isEstimate,
      oldestAt: oldestAt === undefined ? null : new Date(oldestAt).toISOString(),
      configured: isConfigured,
    }));
    session.output.result(document, () => backlogTable(backlogs, Date.now()));
  });
}

function backlogTable(backlogs: readonly SinkBacklog[], now: number): string {
  const rows = backlogs.map(({ sink, batches, isEstimate, oldestAt, isConfigured }) => [
    sink,
    isEstimate ? `about ${batches}` : String(batches),
    oldestAt === undefined ? "–" : lengthText(Math.max(0, now - oldestAt)),
    isConfigured ? "" : hint("not configured: drop it with `sallyport events drop`"),
  ]);
  return table([["SINK", "BATCHES", "OLDEST", ""], ...rows], "No sink is configured, and nothing waits.");
}

function dropCommand(io: Io): Command {
  const command = new Command("drop")
    .description("drop what waits for a sink that is configured no more; nobody gets it then")
    .argument("<sink>", "name of the sink");
  return withCommonOptions(command).action(async (sink: string, options: CommonOptions) => {
    const session = new Session(options, io);
    const dropped = must(await session.withEngine((engine) => engine.events.drop(sink)));
    const { batches } = dropped;
    session.output.result({ sink, batches }, () =>
      visible(`Dropped ${batches} batch(es) of events for ${sink}.`),
    );
  });
}

function schemaCommand(io: Io): Command {
  return new Command("schema")
    .description("print the JSON Schema of the events that are published")
    .action(() => {
      void new Output(io, true).data(`${JSON.stringify(eventSchemas(), null, 2)}\n`);
    });
}
