import { type Failure, failure } from "@sallyport/protocol";
import { isLoopback } from "../kernel/loopback.ts";

interface Binding {
  host: string;
  callers: "open" | "token";
  publicUrl?: string | undefined;
  allowedHosts?: readonly string[];
}

/** E3919 for a door that others could reach and that would believe whatever they say they are. */
export function refuseWideBinding({
  host,
  callers,
  publicUrl,
  allowedHosts = [],
}: Binding): Failure | undefined {
  if (callers === "token") return undefined;
  const names = [host, ...allowedHosts, ...(publicUrl === undefined ? [] : [new URL(publicUrl).hostname])];
  const wide = names.find((name) => !isLoopback(name));
  if (wide === undefined) return undefined;
  return failure("E3919", {
    message: `The door can be reached from other machines (${wide}), and http.callers is open to anybody.`,
    advice: "Set http.callers to token, so that each call needs a capability token, or bind to 127.0.0.1.",
    issues: [
      {
        path: "/http/callers",
        reason: "must be token where http.host, http.publicUrl or http.allowedHosts is not loopback",
      },
    ],
  });
}
