import { type Failure, failure } from "@sallyport/protocol";
import { type AddressKind, addressKind } from "../egress/address-kind.ts";
import { type Destination, readAuthority } from "../egress/destination.ts";

/** Where plain web servers listen below the ports anybody may open. */
const WEB = new Set([80, 443]);
const FIRST_FREE = 1_024;
/**
 * Services above those that take a line of text for a command: the ports browsers refuse (Fetch, "bad port"), and the
 * data stores and caches that a private network has.
 */
const OTHER_SERVICES = new Set([
  1719, 1720, 1723, 2049, 3306, 3659, 4045, 4190, 5060, 5061, 5432, 6000, 6379, 6566, 6665, 6666, 6667, 6668,
  6669, 6679, 6697, 10080, 11211, 27017,
]);

/** Why a webhook does not go to a port: a signed POST must not be a command to something that is no web server. */
function portProblem(port: number): string | undefined {
  const isWeb = WEB.has(port) || (port >= FIRST_FREE && !OTHER_SERVICES.has(port));
  return isWeb ? undefined : `port ${port} is not one web servers listen on`;
}

/** Where a webhook goes, read once: what is checked is what is connected to. */
export interface WebhookTarget {
  to: Destination;
  secure: boolean;
  /** With the query. */
  path: string;
}

/** Why a URL is not delivered to; names no more of it than its host. */
export interface UrlProblem {
  problem: string;
}

export interface UrlRules {
  /** Whether loopback and private addresses may be reached, those by plain http too. */
  allowPrivate: boolean;
}

const LONGEST = 2_048;
/** What URL parsers drop, turn round or read differently from one another. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: some parsers drop them before they look
const DISPUTED = /[\u0000-\u0020\u007f\\]/;
const PARTS = /^(https?):\/\/([^/?#]+)[^#]*$/i;
const [HTTP_PORT, HTTPS_PORT] = [80, 443];
/** Metadata and link-local addresses included: the caller, who is not trusted, chooses the address here. */
const NEVER = new Set<AddressKind>([
  "link-local",
  "metadata",
  "multicast",
  "broadcast",
  "unspecified",
  "invalid",
]);
/** Names that never lead to the public network. */
const INWARD = /^[^.]+$|\.(?:localhost|local|internal|intranet|lan|home\.arpa)$/;

/** Reads a URL as far as that can be done without looking its name up. */
export function readWebhookUrl(url: string, rules: UrlRules): WebhookTarget | UrlProblem {
  if (url.length > LONGEST) return { problem: `it is longer than ${LONGEST} characters` };
  const [, scheme = "", authority = ""] = (!DISPUTED.test(url) && PARTS.exec(url)) || [];
  const parsed = URL.parse(url);
  if (scheme === "" || !parsed || !url.isWellFormed())
    return { problem: "it is not an absolute https URL without spaces, backslashes or a fragment" };
  if (authority.includes("@")) return { problem: "it has a user name or password in it" };
  const secure = scheme.toLowerCase() === "https";
  const to = readAuthority(authority, secure ? HTTPS_PORT : HTTP_PORT);
  if (!to) return { problem: "its host or port cannot be read" };
  const problem = schemeProblem(secure, rules) ?? portProblem(to.port) ?? hostProblem(to, { secure, rules });
  return problem === undefined ? { to, secure, path: `${parsed.pathname}${parsed.search}` } : { problem };
}

/** Why calls may not name this URL to be told at; E3903 with the field's place, undefined when they may. */
export function refuseCallbackUrl(url: string, rules: UrlRules): Failure | undefined {
  const read = readWebhookUrl(url, rules);
  if (!("problem" in read)) return undefined;
  return failure("E3903", {
    message: `The callback URL cannot be used: ${read.problem}.`,
    advice: "Name an https URL on the public network, or ask the operator about webhooks.allowPrivate.",
    issues: [{ path: "/execution_options/callback_url", reason: read.problem }],
  });
}

function schemeProblem(secure: boolean, { allowPrivate }: UrlRules): string | undefined {
  return secure || allowPrivate ? undefined : "it is not https";
}

function hostProblem(
  { name, address }: Destination,
  { secure, rules: { allowPrivate } }: { secure: boolean; rules: UrlRules },
): string | undefined {
  if (address === undefined)
    return allowPrivate || !INWARD.test(name) ? undefined : `${name} is not a name of the public network`;
  const kind = addressKind(address);
  if (kind === "public") return secure ? undefined : "plain http goes to private addresses only";
  return allowPrivate && !NEVER.has(kind) ? undefined : `${address} is ${article(kind)} ${kind} address`;
}

function article(kind: AddressKind): "a" | "an" {
  return kind === "unspecified" || kind === "invalid" ? "an" : "a";
}
