import { type Failure, failure } from "@sallyport/protocol";

/** Whom calls may have told of their end: `off`, nobody; a list, those hosts; left out, whoever can be reached. */
export type CallbackHosts = "off" | readonly string[];

/** Why a call may not be told of there, by the operator's word alone; undefined when it may. */
export function hostProblem(url: string, hosts: CallbackHosts | undefined): string | undefined {
  if (hosts === undefined) return undefined;
  if (hosts === "off") return "callbacks are switched off here";
  const name = plainName(URL.parse(url)?.hostname ?? "");
  return hosts.some((host) => matches(plainName(host), name)) ? undefined : "its host is not on the list";
}

/** The same as a refusal of the call that asks for it. */
export function refuseHost(url: string, hosts: CallbackHosts | undefined): Failure | undefined {
  const problem = hostProblem(url, hosts);
  if (problem === undefined) return undefined;
  return failure("E3903", {
    message: `The callback URL cannot be used: ${problem}.`,
    advice: "Ask the operator, or ask for the call's result instead.",
    issues: [{ path: "/execution_options/callback_url", reason: problem }],
  });
}

/** `*.example.com` is every name below it, and not the name itself. */
function matches(host: string, name: string): boolean {
  if (!host.startsWith("*.")) return name !== "" && host === name;
  return name.endsWith(host.slice(1)) && name.length > host.length - 1;
}

/** Names are the same in any case, and with a dot at their end. */
function plainName(name: string): string {
  return name.toLowerCase().replace(/\.$/, "");
}
