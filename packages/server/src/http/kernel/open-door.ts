import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { type Failure, failure, SallyportError } from "@sallyport/protocol";
import { must } from "../../must.ts";
import { refuseWideBinding } from "../guard/index.ts";
import { type BuiltDoor, buildDoor, type DoorOptions } from "./build-door.ts";
import { type Closing, closing } from "./closing.ts";
import type { DoorSettings } from "./door-settings.ts";
import { codeOf } from "./failure-of.ts";
import { bindAddress, inUrl } from "./loopback.ts";
import { readTlsFiles, type TlsPair } from "./tls-files.ts";

/** A door that stands open. */
export interface HttpDoor extends Closing {
  /** Such as `http://127.0.0.1:7420`: where it can be reached on this machine. */
  url: string;
  address: { host: string; port: number };
}

/**
 * Opens the HTTP door. Throws, with nothing left open, E3919 for a binding nobody may have, E3227 for TLS files that
 * cannot be used, E3943 when the address cannot be used.
 */
export async function openHttpDoor(options: DoorOptions): Promise<HttpDoor> {
  const { settings } = options;
  const wide = refuseWideBinding(settings);
  if (wide) throw new SallyportError(wide);
  const tls = settings.tls && must(readTlsFiles(settings.tls));
  const built = await buildDoor(options, tls);
  const address = await listen(built, settings);
  built.server.on("error", (error) => options.log.error({ err: error }, "The HTTP server reports an error"));
  return { ...closing(built, settings), url: urlOf(address, tls), address };
}

async function listen(
  { app, server }: BuiltDoor,
  { host, port }: DoorSettings,
): Promise<{ host: string; port: number }> {
  try {
    await listening(server, { host: bindAddress(host), port });
  } catch (error) {
    await app.close();
    throw new SallyportError(cannotOpen(error, { host, port }), { cause: error });
  }
  const { address, port: bound } = server.address() as AddressInfo;
  return { host: address, port: bound };
}

function listening(server: Server, at: { host: string; port: number }): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(at, () => {
      server.off("error", reject);
      resolve();
    });
  });
}

const WHY: Readonly<Record<string, string>> = {
  EADDRINUSE: "another program uses it",
  EACCES: "this user may not use it",
  EADDRNOTAVAIL: "this machine does not have that address",
  ENOTFOUND: "there is no such name",
};

function cannotOpen(error: unknown, { host, port }: { host: string; port: number }): Failure {
  const reason = WHY[codeOf(error)] ?? (error instanceof Error ? error.message : String(error));
  return failure("E3943", { message: `${inUrl(host)}:${port} cannot be used: ${reason}.` });
}

function urlOf({ host, port }: { host: string; port: number }, tls: TlsPair | undefined): string {
  const reachable = host === "0.0.0.0" ? "127.0.0.1" : host === "::" ? "::1" : host;
  return `${tls ? "https" : "http"}://${inUrl(reachable)}:${port}`;
}
