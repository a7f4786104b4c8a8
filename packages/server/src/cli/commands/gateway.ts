import { resolve } from "node:path";
import { failure, SallyportError } from "@sallyport/protocol";
import { Command } from "commander";
import { loadConfig } from "../../config/load.ts";
import type { Override } from "../../config/overrides.ts";
import type { Io } from "../io.ts";
import { type CommonOptions, withCommonOptions } from "../session.ts";
import { type AddressOptions, addressFlags, serveConfig } from "./serve.ts";

interface GatewayOptions extends CommonOptions, AddressOptions {
  domain?: string;
}

const HELP = `
A gateway is a server that runs the tools of one domain package, by workers, and nothing else. Every fault in the package
stops the start; \`sallyport domain check\` looks at it without starting.
  $ sallyport gateway --domain domains/example_domain
  $ sallyport gateway --domain domains/example_domain --config sallyport.yaml
Without a configuration file it listens on this machine alone, and every caller on it may run the tools of the domain. With
one, only what its grants allow runs. Signals are those of \`sallyport serve\`; SIGHUP reads the package again.`;

/** `sallyport gateway`: the server with a domain package instead of modules. */
export function gatewayCommand(io: Io, _finish: (code: number) => void): Command {
  const command = new Command("gateway")
    .description("start a gateway: the tools of one domain package, by workers")
    .option("--domain <folder>", "folder of the domain package (domain)")
    .option("--host <address>", "address to listen at (http.host)")
    .option("--port <number>", "port to listen at; 0: any that is free (http.port)")
    .option("--json-logs", "JSON lines on stderr, also at a terminal (log.format)")
    .addHelpText("after", HELP);
  return withCommonOptions(command).action(async (options: GatewayOptions) => {
    const { config: file, stateDir, json, domain } = options;
    const named: Override[] =
      domain === undefined
        ? []
        : [{ path: ["domain"], value: resolve(io.cwd, domain), origin: { kind: "flag", flag: "--domain" } }];
    const flags = [...named, ...addressFlags(options)];
    const config = loadConfig({ file, stateDir, cwd: io.cwd, flags });
    if (config.domain === undefined) throw noDomain();
    await serveConfig(config, io, json);
  });
}

function noDomain(): SallyportError {
  const advice = "Name its folder: sallyport gateway --domain FOLDER (or `domain` in sallyport.yaml).";
  return new SallyportError(failure("E3921", { message: "A gateway needs a domain package.", advice }));
}
