import { Command } from "commander";
import { type LoadedConfig, loadConfig } from "../../config/load.ts";
import type { Override } from "../../config/overrides.ts";
import { serve } from "../../serve/serve.ts";
import { createServerLog } from "../../serve/server-log.ts";
import { startText } from "../../serve/start-text.ts";
import { type Io, Output } from "../io.ts";
import { type CommonOptions, withCommonOptions } from "../session.ts";

/** Where a server listens and how it logs. */
export interface AddressOptions {
  host?: string;
  port?: string;
  logLevel?: string;
  jsonLogs?: boolean;
}

interface ServeOptions extends CommonOptions, AddressOptions {}

const HELP = `
Opens the HTTP door and stays until it is told to stop. Everything else is in sallyport.yaml (key "http").
  $ sallyport serve
  $ sallyport serve --port 0 --json          any free port; one JSON document says where
Signals: SIGTERM and SIGINT (Ctrl-C) stop it: no new requests, calls that run may finish for http.shutdownSeconds; a second
one ends them at once. SIGHUP applies a changed configuration; a wrong one changes nothing, and the log says where it is wrong.`;

/** `sallyport serve`: the server as a server. */
export function serveCommand(io: Io, _finish: (code: number) => void): Command {
  const command = new Command("serve")
    .description("start the HTTP server")
    .option("--host <address>", "address to listen at (http.host)")
    .option("--port <number>", "port to listen at; 0: any that is free (http.port)")
    .option("--log-level <level>", "lowest level to log (log.level)")
    .option("--json-logs", "JSON lines on stderr, also at a terminal (log.format)")
    .addHelpText("after", HELP);
  return withCommonOptions(command).action(async (options: ServeOptions) => {
    const { config: file, stateDir, json } = options;
    await serveConfig(loadConfig({ file, stateDir, cwd: io.cwd, flags: addressFlags(options) }), io, json);
  });
}

/** Serves until it is told to stop, and says where on standard output. */
export async function serveConfig(config: LoadedConfig, io: Io, json = false): Promise<void> {
  const output = new Output(io, json);
  await serve({
    config,
    log: createServerLog({ log: config.log, stream: io.stderr }),
    onOpen: (report) => output.result(report, () => startText(report, output)),
    ...(io.signals && { signals: io.signals }),
  });
}

/** Flags are settings like those of the file, so that they are judged alike. */
export function addressFlags({ host, port, logLevel, jsonLogs }: AddressOptions): Override[] {
  const number = port !== undefined && /^\d+$/.test(port) ? Number(port) : port;
  const settings: [string, string[], unknown][] = [
    ["--host", ["http", "host"], host],
    ["--port", ["http", "port"], number],
    ["--log-level", ["log", "level"], logLevel],
    ["--json-logs", ["log", "format"], jsonLogs ? "json" : undefined],
  ];
  return settings.flatMap(([flag, path, value]) =>
    value === undefined ? [] : [{ path, value, origin: { kind: "flag", flag } }],
  );
}
