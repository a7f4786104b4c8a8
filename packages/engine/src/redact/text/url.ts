import { isMarker, markerOf, REDACTED } from "../marker.ts";
import { isPlaceholder } from "./placeholder.ts";
import type { TextRule } from "./rule.ts";

const PASSWORD = markerOf("PASSWORD");
const USERINFO = markerOf("USERINFO");
const WEBHOOK = markerOf("WEBHOOK");

/** What follows a scheme, up to where the address ends or the next one begins. */
const ADDRESS = /:\/\/(?:[^\s"'<>`\\:]|:(?!\/\/))+/g;
/** Only here a name without a password is a credential; elsewhere it is a person or `git`. */
const HTTP = /(?:https?|wss?)$/i;
const SCHEME_LENGTH = 8;
const SIGN = "://";

/** Addresses whose path is the secret. */
const WEBHOOK_PATH =
  /^((?:hooks\.slack\.com\/(?:services|workflows|triggers)|discord(?:app)?\.com\/api\/webhooks|[\w.-]{1,80}\.webhook\.office\.com\/webhookb2|api\.telegram\.org)\/)[^?#]+/i;
/** Parameters that are secrets in an address, though their names are too common to be secret anywhere else. */
const SIGNATURE = /([?&](?:x-(?:amz|goog)-(?:signature|credential)|sig(?:nature)?)=)([^&#]{8,})/gi;
const SHORT_NAME = /([?&#](?:key|auth|code)=)([^&#]{16,})/gi;

/** Passwords and names in addresses, and parameters that only an address gives away. */
export const addresses: TextRule = (text) => {
  if (!text.includes("://")) return text;
  return text.replace(ADDRESS, (found, at: number) => {
    const address = found.slice(SIGN.length);
    const scheme = () => text.slice(Math.max(0, at - SCHEME_LENGTH), at);
    const shown = withoutParameters(address.includes("@") ? withoutUserinfo(address, scheme) : address);
    return shown === address ? found : SIGN + shown;
  });
};

function withoutParameters(address: string): string {
  if (!/[/?&#]/.test(address)) return address;
  const hide = (all: string, name: string, value: string) =>
    isMarker(value) || isPlaceholder(value) ? all : name + REDACTED;
  const shown = address.replace(WEBHOOK_PATH, (_, before: string) => before + WEBHOOK);
  return shown.replace(SIGNATURE, hide).replace(SHORT_NAME, hide);
}

function withoutUserinfo(address: string, scheme: () => string): string {
  const at = userinfoEnd(address);
  if (at <= 0 || address.startsWith("@sha", at)) return address;
  const colon = address.indexOf(":");
  if (colon !== -1 && colon < at) return hidden(address, { start: colon + 1, end: at, marker: PASSWORD });
  return HTTP.test(scheme()) ? hidden(address, { start: 0, end: at, marker: USERINFO }) : address;
}

function hidden(address: string, { start, end, marker }: { start: number; end: number; marker: string }) {
  const secret = address.slice(start, end);
  if (secret === "" || isMarker(secret) || isPlaceholder(secret)) return address;
  return address.slice(0, start) + marker + address.slice(end);
}

/** The index of the `@` after a name and password, or -1. A password may hold a slash that should have been escaped. */
function userinfoEnd(address: string): number {
  const stop = address.search(/[/?#]/);
  if (stop === -1) return address.lastIndexOf("@");
  const at = address.lastIndexOf("@", stop);
  if (at !== -1) return at;
  const portOrPassword = /^[^:[]*:(.+)$/.exec(address.slice(0, stop))?.[1];
  if (portOrPassword === undefined || /^\d{1,5}$/.test(portOrPassword)) return -1;
  return address.lastIndexOf("@");
}
