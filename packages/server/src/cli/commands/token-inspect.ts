import { type CheckReport, inspectToken, type TokenInspection } from "@sallyport/engine/host";
import { isFailure, type JsonObject, type JsonValue, SallyportError } from "@sallyport/protocol";
import { Command } from "commander";
import { configuredKeys, tokenRulesOf } from "../../keys/index.ts";
import { relativeText } from "../duration-text.ts";
import { EXIT } from "../exit-codes.ts";
import { type Io, type Output, visible } from "../io.ts";
import { readText } from "../read-input.ts";
import { type CommonOptions, Session, withCommonOptions } from "../session.ts";

interface InspectFlags extends CommonOptions {
  agent?: string;
  tenant?: string;
  tool?: string;
  toolVersion?: string;
}

const DATES = ["iat", "nbf", "exp"];

const HELP = `
Needs no key to show what a token says; with the keys of this runtime and of the issuers in the configuration it also
checks the signature. Say what a call would ask for to have that checked too. The signature itself is never printed.
  $ sallyport token inspect @token.jwt
  $ pass show agent-token | sallyport token inspect
  $ sallyport token inspect @token.jwt --agent agent-7 --tenant acme --tool file.read --tool-version 1.2.0
Exit code 0: nothing speaks against it. 1: a check fails. 3: it is no token at all.`;

/** `sallyport token inspect`: what a token says, and which checks it would pass. */
export function inspectCommand(io: Io, finish: (code: number) => void): Command {
  const command = new Command("inspect")
    .description("show a token's claims and which checks it passes")
    .argument("[token]", "@file, - for standard input, or the token itself", "-")
    .option("--agent <id>", "the agent that would call")
    .option("--tenant <id>", "its tenant")
    .option("--tool <id>", "the tool it would call")
    .option("--tool-version <version>", "the tool's version")
    .addHelpText("after", HELP);
  return withCommonOptions(command).action(async (given: string, flags: InspectFlags) => {
    const session = new Session(flags, io);
    const seen = await inspected((await readText(given, io)).trim(), flags, session);
    const fails = seen.checks.some(({ result }) => result === "fails");
    session.output.result({ ok: !fails, ...seen }, () => inspectionText(seen, session.output));
    finish(fails ? EXIT.toolFailed : EXIT.success);
  });
}

async function inspected(token: string, flags: InspectFlags, session: Session): Promise<TokenInspection> {
  const keys = configuredKeys(session.config);
  if (keys && isFailure(keys))
    session.output.note(visible(`! ${keys.message} The signature is not checked.`));
  const { changed: revoked } = await session.reading((store) => store.revocations.changedSince());
  const { agent, tenant, tool, toolVersion: version } = flags;
  const seen = inspectToken(token, {
    rules: tokenRulesOf(session.config),
    at: Date.now(),
    ...(keys && !isFailure(keys) && { keys }),
    query: {
      ...(agent !== undefined && { agent }),
      ...(tenant !== undefined && { tenant }),
      ...(tool !== undefined && { tool }),
      ...(version !== undefined && { version }),
    },
    revoked: new Set(revoked.map(({ jti }) => jti)),
  });
  if (isFailure(seen)) throw new SallyportError(seen);
  return seen;
}

function inspectionText({ header, payload, checks }: TokenInspection, output: Output): string {
  const now = Date.now();
  return [
    visible(members("header", header, now)),
    visible(members("payload", payload, now)),
    ...checks.map((report) => checkText(report, output)),
  ].join("\n");
}

function members(title: string, value: JsonObject, now: number): string {
  const lines = Object.entries(value).map(([name, member]) => `  ${name}: ${memberText(name, member, now)}`);
  return [title, ...lines].join("\n");
}

function memberText(name: string, member: JsonValue, now: number): string {
  const text = JSON.stringify(member);
  if (!DATES.includes(name) || typeof member !== "number") return text;
  const date = new Date(member * 1000);
  if (Number.isNaN(date.getTime())) return text;
  return `${text} (${date.toISOString()}, ${relativeText(date.getTime(), now)})`;
}

function checkText({ check, code, result, why }: CheckReport, output: Output): string {
  const mark = { passes: output.style("green", "✓"), fails: output.style("red", "✗"), "not checked": "–" }[
    result
  ];
  if (result === "passes") return `${mark} ${check}`;
  const reason = visible(why ?? "").replaceAll(/\s+/g, " ");
  return result === "fails"
    ? `${mark} ${check} (${code}): ${reason}`
    : `${mark} ${check}: not checked, ${reason}`;
}
