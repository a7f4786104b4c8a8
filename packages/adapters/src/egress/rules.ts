import { validateHeaderName, validateHeaderValue } from "node:http";
import { type Hosts, readHostPattern } from "@sallyport/engine/host";
import type { EgressCredential, EgressRule } from "@sallyport/engine/ports";
import { failure, SallyportError } from "@sallyport/protocol";
import type { Destination } from "./destination.ts";

/** A rule whose host has been read. */
export interface ReadRule {
  rule: EgressRule;
  hosts: Hosts;
}

/** Headers that steer the connection: a credential in one of them would break the request's frame. */
const STEERING = new Set(["host", "connection", "content-length", "transfer-encoding", "upgrade", "te"]);

/** Reads the rules, the most special first. Throws SallyportError E3104 for one that cannot mean anything safe. */
export function readRules(rules: readonly EgressRule[]): ReadRule[] {
  return rules.map(readRule).sort((one, other) => specialty(other) - specialty(one));
}

/** The most special rule for a destination. An address must be listed itself: no wildcard covers it. */
export function ruleFor(rules: readonly ReadRule[], to: Destination): ReadRule | undefined {
  return rules.find(
    ({ hosts }) => (hosts.port === undefined || hosts.port === to.port) && isNamed(hosts, to),
  );
}

function isNamed(hosts: Hosts, to: Destination): boolean {
  if (hosts.kind === "exact") return hosts.name === to.name;
  if (to.address !== undefined) return false;
  return hosts.kind === "any" || to.name.endsWith(`.${hosts.name}`);
}

function readRule(rule: EgressRule): ReadRule {
  const hosts = readHostPattern(rule.host);
  if (!hosts) throw unusable(rule, "its host is not a name, an address or `*.` and a name");
  const port = rule.port ?? hosts.port;
  if (rule.port !== undefined && hosts.port !== undefined && rule.port !== hosts.port)
    throw unusable(rule, `it names two ports, ${hosts.port} and ${rule.port}`);
  if (port !== undefined && (!Number.isInteger(port) || port < 1 || port > 65_535))
    throw unusable(rule, `${port} is not a port`);
  if (rule.credential) checkCredential(rule, hosts, rule.credential);
  return { rule, hosts: { ...hosts, port } };
}

function checkCredential(rule: EgressRule, hosts: Hosts, { as }: EgressCredential): void {
  if (hosts.kind === "any") throw unusable(rule, "a credential must not go to every host");
  if ("basic" in as) {
    if (as.basic.user.includes(":")) throw unusable(rule, "a user of basic authentication has no colon");
    return;
  }
  if (STEERING.has(as.header.toLowerCase())) throw unusable(rule, `${as.header} cannot carry a credential`);
  if (!as.value.includes("{secret}")) throw unusable(rule, "its value has no place for {secret}");
  try {
    validateHeaderName(as.header);
    validateHeaderValue(as.header, as.value);
  } catch (error) {
    throw unusable(rule, "its credential is not a header", error);
  }
}

function specialty({ hosts }: ReadRule): number {
  const kind = hosts.kind === "exact" ? 2_000_000 : hosts.kind === "below" ? 1_000_000 : 0;
  return kind + hosts.name.length * 2 + (hosts.port === undefined ? 0 : 1);
}

function unusable({ host }: EgressRule, why: string, cause?: unknown): SallyportError {
  const message = `The network rule for ${JSON.stringify(host.slice(0, 100))} cannot be used: ${why}.`;
  return new SallyportError(failure("E3104", { message, advice: "Correct the rule." }), { cause });
}
