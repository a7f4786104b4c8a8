import type { Hiding } from "../hiding.ts";
import { isMarker, markerOf, REDACTED } from "../marker.ts";
import { isPlaceholder } from "./placeholder.ts";
import { type Cut, cutOut, firstStop, type TextRule } from "./rule.ts";

const SIGN = "://";
/** Where an address ends, or the next one begins. */
const ADDRESS_END = /[\s"'<>`\\]|:\/\//g;
/** Only here a name without a password is a credential; elsewhere it is a person or `git`. */
const HTTP = /(?:https?|wss?)$/i;
const SCHEME_LENGTH = 8;

/** Addresses whose path is the secret. */
const WEBHOOK_HOST =
  /^(?:hooks\.slack\.com\/(?:services|workflows|triggers)|discord(?:app)?\.com\/api\/webhooks|[\w.-]{1,80}\.webhook\.office\.com\/webhookb2|api\.telegram\.org)\//i;
const PATH_END = /[?#]/g;
/** Parameters that are secrets in an address, though their names are too common to be secret anywhere else. */
const PARAMETER = /[?&#](?:x-(?:amz|goog)-(?:signature|credential)|sig(?:nature)?|key|auth|code)=/gi;
const PARAMETER_END = /[&#]/g;
const SHORTEST_SIGNATURE = 8;
const SHORTEST_KEY = 16;

/** Passwords and names in addresses, and parameters that only an address gives away. */
export function addresses(hiding: Hiding): TextRule {
  return (text) => (text.includes(SIGN) ? cutOut(text, found(text, hiding)) : text);
}

function* found(text: string, hiding: Hiding): Generator<Cut> {
  let end = 0;
  for (let sign = text.indexOf(SIGN); sign !== -1; sign = text.indexOf(SIGN, end)) {
    const start = sign + SIGN.length;
    end = firstStop(text, ADDRESS_END, start);
    const address = text.slice(start, end);
    for (const cut of cutsIn(address, text, sign))
      if (mayHide(address, cut, hiding))
        yield { start: start + cut.start, end: start + cut.end, marker: cut.marker };
  }
}

/** A password that holds what ends a host may be no password: `https://host:0443/x@other` goes to `host`. */
function mayHide(address: string, cut: Cut, hiding: Hiding): boolean {
  const isUnsure = address.charAt(cut.end) === "@" && /[/?#]/.test(address.slice(cut.start, cut.end));
  return hiding.part(address, cut) && !(isUnsure && hiding.purpose === "decision");
}

function cutsIn(address: string, text: string, sign: number): Cut[] {
  const cuts = userinfo(address, text, sign);
  return /[/?&#]/.test(address) ? [...cuts, ...path(address), ...parameters(address)] : cuts;
}

/** The cut, unless it would take out a marker or something that stands for a secret. */
function hidden(address: string, cut: Cut): Cut[] {
  const secret = address.slice(cut.start, cut.end);
  return secret === "" || isMarker(secret) || isPlaceholder(secret) ? [] : [cut];
}

function path(address: string): Cut[] {
  const start = WEBHOOK_HOST.exec(address)?.[0].length;
  if (start === undefined) return [];
  return hidden(address, { start, end: firstStop(address, PATH_END, start), marker: markerOf("WEBHOOK") });
}

function parameters(address: string): Cut[] {
  return [...address.matchAll(PARAMETER)].flatMap(({ 0: name, index }) => {
    const start = index + name.length;
    const end = firstStop(address, PARAMETER_END, start);
    const shortest = /sig|cred/i.test(name) ? SHORTEST_SIGNATURE : SHORTEST_KEY;
    return end - start < shortest ? [] : hidden(address, { start, end, marker: REDACTED });
  });
}

function userinfo(address: string, text: string, sign: number): Cut[] {
  const end = address.includes("@") ? userinfoEnd(address) : -1;
  if (end <= 0 || address.startsWith("@sha", end)) return [];
  const colon = address.indexOf(":");
  if (colon !== -1 && colon < end)
    return hidden(address, { start: colon + 1, end, marker: markerOf("PASSWORD") });
  const scheme = text.slice(Math.max(0, sign - SCHEME_LENGTH), sign);
  return HTTP.test(scheme) ? hidden(address, { start: 0, end, marker: markerOf("USERINFO") }) : [];
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
