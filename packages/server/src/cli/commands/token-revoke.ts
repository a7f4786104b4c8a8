import type { TokenRules } from "@sallyport/engine";
import { inspectToken } from "@sallyport/engine/host";
import type { Revocation } from "@sallyport/engine/ports";
import { failure, isFailure, type JsonValue, SallyportError, TOKEN_NAME } from "@sallyport/protocol";
import { Command } from "commander";
import { tokenRulesOf } from "../../keys/index.ts";
import { must } from "../../must.ts";
import { relativeText } from "../duration-text.ts";
import { type Io, table, visible } from "../io.ts";
import { personName, personWords } from "../person-text.ts";
import { readText } from "../read-input.ts";
import { type CommonOptions, Session, withCommonOptions } from "../session.ts";

interface RevokeOptions extends CommonOptions {
  reason: string;
  by?: string;
}

const HELP = `
From then on the token is refused with E3208, and calls that run on it are ended. Give its jti, or the token itself from
a file or standard input.
  $ sallyport token revoke 0198c0de-0000-7000-8000-000000000000 --reason "agent retired"
  $ sallyport token revoke @token.jwt --reason "found in a log"`;

/** `sallyport token revoke`: ends a token before its time. */
export function revokeCommand(io: Io): Command {
  const command = new Command("revoke")
    .description("revoke a token")
    .argument("<jti>", "its jti, or the token itself as @file or -")
    .requiredOption("--reason <text>", "why; goes on record", personWords)
    .option("--by <name>", "who revokes it (default: your user name)", personName)
    .addHelpText("after", HELP);
  return withCommonOptions(command).action(async (given: string, options: RevokeOptions) => {
    const session = new Session(options, io);
    const isFile = given === "-" || given.startsWith("@");
    // A name counts as it was typed: revoking another one than was said would leave the real one good.
    const text = isFile ? (await readText(given, io)).trim() : given;
    const token = tokenNamed(text, { rules: tokenRulesOf(session.config), isFile });
    const by = options.by ?? session.caller({}).user ?? "operator";
    const done = must(
      await session.withEngine((desk) => desk.revokeToken({ ...token, by, reason: options.reason })),
    );
    session.output.result(revocationDocument(done), () =>
      visible(`Revoked ${done.jti}. It is refused from now on.`),
    );
  });
}

/** Which token is meant, and until when it could live. A token need not be verified to be revoked. */
function tokenNamed(
  text: string,
  { rules, isFile }: { rules: TokenRules; isFile: boolean },
): { jti: string; forgetAt: number } {
  const now = Date.now();
  const forgetAt = now + rules.maxLifeMs;
  const seen = inspectToken(text, { rules, at: now });
  if (isFailure(seen)) {
    // A damaged token must not be kept as if it were a name: the real one would stay good, and its text be on record.
    if (isFile) throw unusable(`This is no readable token: ${seen.message}`);
    return { jti: plainJti(text), forgetAt };
  }
  const { jti, exp } = seen.payload;
  if (typeof jti !== "string") throw unusable("The token has no jti, so it cannot be revoked by name.");
  // Never shorter than a token may live: what is not verified must not make the record forget too soon.
  return { jti: plainJti(jti), forgetAt: Math.max(forgetAt, isDate(exp) ? exp * 1000 : 0) };
}

/** Seconds up to the end of the year 9999. */
function isDate(value: JsonValue | undefined): value is number {
  return typeof value === "number" && value <= 253_402_300_799;
}

function plainJti(jti: string): string {
  if (TOKEN_NAME.test(jti)) return jti;
  throw unusable("A jti has 1 to 256 characters that can be seen, and is no token or a part of one.");
}

function unusable(message: string): SallyportError {
  const advice = "See it with `sallyport token inspect`, or rotate the keys with --keep 0.";
  return new SallyportError(failure("E3921", { message, advice }));
}

/** `sallyport token revoked`: the tokens that are refused although they could still live. */
export function revokedCommand(io: Io): Command {
  const command = new Command("revoked").description(
    "tokens that were revoked and could still be good otherwise",
  );
  return withCommonOptions(command).action(async (options: CommonOptions) => {
    const session = new Session(options, io);
    const { changed: all } = await session.reading((store) => store.revocations.changedSince());
    session.output.result(all.map(revocationDocument), () => revokedText(all, Date.now()));
  });
}

function revocationDocument({ jti, revokedAt, by, reason, forgetAt }: Revocation) {
  const time = (at: number) => new Date(at).toISOString();
  return { jti, revokedAt: time(revokedAt), by, reason, forgetAt: time(forgetAt) };
}

function revokedText(all: readonly Revocation[], now: number): string {
  const rows = all.map(({ jti, revokedAt, by, reason, forgetAt }) => [
    jti,
    relativeText(revokedAt, now),
    by,
    relativeText(forgetAt, now),
    reason,
  ]);
  return table([["TOKEN", "REVOKED", "BY", "FORGOTTEN", "REASON"], ...rows], "No token is revoked.");
}
