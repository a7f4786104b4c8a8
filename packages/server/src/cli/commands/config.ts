import { Command } from "commander";
import { configJsonSchema } from "../../config/config-doc.ts";
import { type Io, Output } from "../io.ts";
import { checkCommand } from "./config-check.ts";
import { explainCommand } from "./config-explain.ts";

const HELP = `
A value comes from the defaults, the file, the environment or a flag: the last one that says something counts.
  $ sallyport config check                      is it right, and what differs from the defaults?
  $ sallyport config check --all                every value, and where it comes from
  $ sallyport config explain http.port          what a key means, and what it is set to
  $ sallyport config schema > sallyport.schema.json   for editors`;

/** `sallyport config`: what the configuration says, and whether it is right. */
export function configCommand(io: Io, finish: (code: number) => void): Command {
  const command = new Command("config")
    .description("check and explain the configuration")
    .addHelpText("after", HELP);
  command.addCommand(checkCommand(io, finish));
  command.addCommand(explainCommand(io));
  command.addCommand(schemaCommand(io));
  return command;
}

function schemaCommand(io: Io): Command {
  return new Command("schema").description("print the JSON Schema of sallyport.yaml").action(() => {
    new Output(io, true).data(`${JSON.stringify(configJsonSchema(), null, 2)}\n`);
  });
}
