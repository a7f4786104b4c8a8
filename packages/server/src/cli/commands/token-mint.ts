import { type MintClaims, mintToken, TokenChecker, type TokenRules, uuidV7 } from "@sallyport/engine";
import { failure, isFailure, SallyportError } from "@sallyport/protocol";
import { Command, InvalidArgumentError } from "commander";
import { HOUSE_ISSUER, keyFolder, loadKeys, type SigningKeys, tokenRulesOf } from "../../keys/index.ts";
import { must } from "../../must.ts";
import { relativeText } from "../duration-text.ts";
import { type Io, visible } from "../io.ts";
import { parseLength } from "../parse-length.ts";
import { type CommonOptions, Session, withCommonOptions } from "../session.ts";
import { type HostFlag, networkClaim, type PathFlag, pathsClaim } from "./token-permissions.ts";

interface MintOptions extends CommonOptions {
  agent: string;
  tenant: string;
  user?: string;
  tool: string;
  toolVersion: string;
  ttl: number;
  operations: string[];
  path: PathFlag[];
  host: HostFlag[];
  secret: string[];
}

const MAX_TTL_MS = 24 * 60 * 60 * 1000;
const DEFAULT_TTL_MS = 15 * 60 * 1000;

const HELP = `
The token alone goes to standard output, so that it can be piped or kept in a file; what it says goes to standard error.
A token has one mode for all its paths, and each of its ports is open on each of its hosts.
  $ sallyport token mint --agent agent-7 --tenant acme --tool file.read --path /data:ro > token.jwt
  $ sallyport token mint --agent agent-7 --tenant acme --tool 'web.*' --tool-version ^1.0.0 --ttl 1h \\
      --host api.example.com:443 --secret api_key`;

/** `sallyport token mint`: a token signed by this server. */
export function mintCommand(io: Io): Command {
  const command = new Command("mint")
    .description("create a capability token, signed by this server")
    .requiredOption("--agent <id>", "the agent that gets it")
    .requiredOption("--tenant <id>", "the agent's tenant")
    .option("--user <id>", "user it acts for; its calls cannot name another")
    .requiredOption("--tool <id>", "the tool it may call; `*` stands for any run of characters")
    .option("--tool-version <range>", "versions of the tool, as a SemVer range", "*")
    .option(
      "--ttl <time>",
      "how long it is good: 45s, 15m, 12h; at most 24h (default: 15m)",
      ttl,
      DEFAULT_TTL_MS,
    )
    .option("--operations <list>", "allowed operations, separated by commas", names, ["execute"])
    .option("--path <path:mode>", "path the tool may use, ro or rw; repeatable", path, [])
    .option("--host <host:port>", "host the tool may connect to; repeatable", host, [])
    .option("--secret <name>", "stored secret the tool may use; repeatable", collect, [])
    .addHelpText("after", HELP);
  return withCommonOptions(command).action(async (options: MintOptions) => {
    const session = new Session(options, io);
    await session.takeKeys();
    const keys = must(loadKeys(keyFolder(session.config.stateFolder)));
    print(minted(claimsOf(options, Date.now()), keys, tokenRulesOf(session.config)), session);
  });
}

interface Minted {
  token: string;
  jti: string;
  expiresAt: number;
}

function minted(claims: MintClaims, keys: SigningKeys, rules: TokenRules): Minted {
  const token = mintToken(claims, keys.current);
  const { agent, tenant, tool } = claims;
  // Whatever is wrong with the flags would be found at the first call; better now.
  const query = { caller: { agent, tenant }, tool, at: claims.issuedAt };
  const checked = new TokenChecker({ ...rules, keys: keys.public }).check(token, query);
  if (!isFailure(checked)) return { token, jti: claims.jti, expiresAt: checked.expiresAt };
  const { message, issues = [] } = checked;
  const reason = `No call would accept this token: ${message}`;
  throw new SallyportError(failure("E3921", { message: reason, issues, advice: "Correct the options." }));
}

function claimsOf(options: MintOptions, now: number): MintClaims {
  const { agent, tenant, user, tool, toolVersion, ttl: life, operations, secret } = options;
  const filesystem = pathsClaim(options.path);
  const network = networkClaim(options.host);
  return {
    jti: uuidV7(() => now).next(),
    issuer: HOUSE_ISSUER,
    tool,
    versions: toolVersion,
    agent,
    tenant,
    ...(user !== undefined && { user }),
    operations,
    issuedAt: now,
    expiresAt: now + life,
    ...(filesystem && { filesystem }),
    ...(network && { network }),
    ...(secret.length > 0 && { credentials: secret }),
  };
}

function print({ token, jti, expiresAt }: Minted, { output }: Session): void {
  const expires = new Date(expiresAt).toISOString();
  output.result({ token, jti, expiresAt: expires }, () => token);
  output.note(visible(`Token ${jti}, good until ${expires} (${relativeText(expiresAt, Date.now())}).`));
}

function ttl(text: string): number {
  const length = parseLength(text);
  if (length > MAX_TTL_MS) throw new InvalidArgumentError("at most 24h");
  return length;
}

function names(text: string): string[] {
  return text.split(",").map((name) => name.trim());
}

function collect(text: string, before: string[]): string[] {
  return [...before, text];
}

function path(text: string, before: PathFlag[]): PathFlag[] {
  const at = text.lastIndexOf(":");
  const mode = text.slice(at + 1);
  if (at < 1 || (mode !== "ro" && mode !== "rw"))
    throw new InvalidArgumentError("a path and how it may be used: /data:ro or /data:rw");
  return [...before, { path: text.slice(0, at), mode }];
}

function host(text: string, before: HostFlag[]): HostFlag[] {
  const at = text.lastIndexOf(":");
  const port = Number(text.slice(at + 1));
  if (at < 1 || !Number.isInteger(port) || port < 1 || port > 65_535)
    throw new InvalidArgumentError("a host and a port: api.example.com:443");
  return [...before, { host: text.slice(0, at), port }];
}
