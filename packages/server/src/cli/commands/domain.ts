import { resolve } from "node:path";
import { isFailure } from "@sallyport/protocol";
import { Command } from "commander";
import { processEnvironment } from "../../config/environment.ts";
import { readDomainPackage } from "../../gateway/read-package.ts";
import { catalogueEntryOf } from "../../gateway/tool-manifest.ts";
import { exitCodeOf } from "../exit-codes.ts";
import { type Io, Output, table, visible } from "../io.ts";
import { failureText } from "../render-answer.ts";

const HELP = `
Reads manifest.yaml, policies.yaml and every schema of the package as a gateway does at its start, and starts nothing.
  $ sallyport domain check domains/example_domain
  $ sallyport domain check . --json | jq '.issues'
Exit code 0: a gateway would take it. 2: it has faults; each is named with file, line and column.
The schemas docs/domain-manifest.schema.json and docs/domain-policies.schema.json say the same to an editor.`;

/** `sallyport domain`: domain packages, which gateways serve. */
export function domainCommand(io: Io, finish: (code: number) => void): Command {
  const check = new Command("check")
    .description("say whether a gateway would take a domain package")
    .argument("[folder]", "folder with manifest.yaml", ".")
    .option("--json", "print one JSON document instead of text")
    .addHelpText("after", HELP)
    .action((folder: string, { json }: { json?: boolean }) => finish(checkDomain(folder, io, json === true)));
  return new Command("domain").description("check a domain package").addCommand(check);
}

function checkDomain(folder: string, io: Io, json: boolean): number {
  const output = new Output(io, json);
  const read = readDomainPackage(resolve(io.cwd, folder), { expectedId: processEnvironment().DOMAIN_ID });
  if (isFailure(read)) {
    output.result({ ok: false, ...read }, () => failureText(read, output));
    return exitCodeOf(read);
  }
  const { id, version, policies } = read;
  const tools = read.tools.map(catalogueEntryOf);
  output.result({ ok: true, domain_id: id, version, tools, policies }, () => {
    const rows = tools.map((tool) => [tool.tool_id, tool.kind, `${tool.timeout_sec} s`, tool.description]);
    const list = table([["TOOL", "KIND", "TIMEOUT", "DESCRIPTION"], ...rows], "");
    return `${output.style("green", "✓")} ${visible(`${id} ${version}`)}\n\n${list}`;
  });
  return 0;
}
