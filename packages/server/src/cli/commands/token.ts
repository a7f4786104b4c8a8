import { Command } from "commander";
import type { Io } from "../io.ts";
import { inspectCommand } from "./token-inspect.ts";
import { mintCommand } from "./token-mint.ts";
import { revokeCommand, revokedCommand } from "./token-revoke.ts";

const HELP = `
A capability token lets one agent call one tool for a short time. It is a secret: keep it out of command lines and logs.
  $ sallyport token mint --agent agent-7 --tenant acme --tool file.read --path /data:ro > token.jwt
  $ sallyport token inspect @token.jwt
  $ sallyport token revoke @token.jwt --reason "found in a log"
  $ sallyport token revoked`;

/** `sallyport token`: make, look at and revoke capability tokens. */
export function tokenCommand(io: Io, finish: (code: number) => void): Command {
  const command = new Command("token")
    .description("create, inspect and revoke capability tokens")
    .addHelpText("after", HELP);
  command.addCommand(mintCommand(io));
  command.addCommand(inspectCommand(io, finish));
  command.addCommand(revokeCommand(io));
  command.addCommand(revokedCommand(io));
  return command;
}
