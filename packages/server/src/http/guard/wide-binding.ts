import { type Failure, failure } from "@sallyport/protocol";
import { isLoopback } from "../kernel/loopback.ts";

/** E3919 for a door that others could reach and that would believe whatever they say they are. */
export function refuseWideBinding({
  host,
  callers,
}: {
  host: string;
  callers: "open" | "token";
}): Failure | undefined {
  if (callers === "token" || isLoopback(host)) return undefined;
  return failure("E3919", {
    message: `http.host ${host} can be reached from other machines, and http.callers is open to anybody.`,
    advice: "Set http.callers to token, so that each call needs a capability token, or bind to 127.0.0.1.",
    issues: [{ path: "/http/callers", reason: "must be token where http.host is not a loopback address" }],
  });
}
