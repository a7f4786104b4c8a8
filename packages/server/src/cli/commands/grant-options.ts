import type { GrantCondition, GrantConstraint, Grantee } from "@sallyport/engine/ports";
import { failure, type JsonValue, SallyportError } from "@sallyport/protocol";
import { type Command, InvalidArgumentError } from "commander";
import { parseLength } from "../parse-length.ts";
import type { CommonOptions } from "../session.ts";

/** What a new grant is to be, as the flags say it. */
export interface GiveOptions extends CommonOptions {
  tool?: string;
  user?: string;
  role?: string;
  resource: string[];
  action: string[];
  condition: GrantCondition[];
  constraint: GrantConstraint[];
  ttl?: number;
  delegatable?: boolean;
}

/** The flags that issuing and delegating share. */
export function withGiveOptions(command: Command): Command {
  return command
    .option("--tool <id>", "tool that gets the grant")
    .option("--user <name>", "user on whose behalf any tool gets the grant")
    .option("--role <name>", "role whose members' tools get the grant")
    .option("--resource <glob>", "only for resources that match; repeatable", collect, [])
    .option("--action <name>", "only for this action; repeatable", collect, [])
    .option("--condition <type: expression>", "only while this condition holds; repeatable", condition, [])
    .option("--constraint <type=json>", "limit on its use; repeatable", constraint, [])
    .option("--ttl <time>", "how long it lasts: 45s, 15m, 12h, 7d", parseLength)
    .option("--delegatable", "the holder may delegate it");
}

/** Whom the flags name; throws E3921 unless it is exactly one. */
export function granteeOf({ tool, user, role }: GiveOptions): Grantee {
  const named: Grantee[] = [
    ...(tool === undefined ? [] : [{ type: "TOOL" as const, id: tool }]),
    ...(user === undefined ? [] : [{ type: "USER" as const, id: user }]),
    ...(role === undefined ? [] : [{ type: "ROLE" as const, id: role }]),
  ];
  const [grantee, second] = named;
  if (grantee && !second) return grantee;
  const message = grantee ? "A grant has one holder; these flags name several." : "Say who gets the grant.";
  throw new SallyportError(failure("E3921", { message, advice: "Give one of --tool, --user and --role." }));
}

function collect(text: string, before: string[]): string[] {
  return [...before, text];
}

function condition(text: string, before: GrantCondition[]): GrantCondition[] {
  const at = text.indexOf(":");
  if (at < 1) throw new InvalidArgumentError('write it as "TIME: hour >= 9 && hour < 17"');
  return [...before, { type: text.slice(0, at).trim(), expression: text.slice(at + 1).trim() }];
}

function constraint(text: string, before: GrantConstraint[]): GrantConstraint[] {
  const at = text.indexOf("=");
  try {
    if (at > 0) {
      const value: JsonValue = JSON.parse(text.slice(at + 1));
      return [...before, { type: text.slice(0, at), value }];
    }
  } catch {
    // Told below, with an example.
  }
  throw new InvalidArgumentError(`write it as 'rate_limit={"max":10,"window":60000}'`);
}
