import type { HideRules, TextRule } from "./hide-rules.ts";
import { type Cut, firstStop, isNoSecret, isPlaceholder, markerOf, REDACTED } from "./text.ts";

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
/** Quick test before the search. */
const PARAMETER_LIKE = /[?&#](?:x-|sig|key|auth|code)/i;
const PARAMETER_END = /[&#]/g;
const SHORTEST_SIGNATURE = 8;
const SHORTEST_KEY = 16;

/** Passwords and names in addresses, and parameters that only an address gives away. */
export const addresses: TextRule = {
  sign: /:\/\//,
  *cuts(text, { hide }) {
    let end = 0;
    for (let sign = text.indexOf(SIGN); sign !== -1; sign = text.indexOf(SIGN, end)) {
      const start = sign + SIGN.length;
      end = firstStop(text, ADDRESS_END, start);
      const address = text.slice(start, end);
      for (const cut of cutsIn(address, text.slice(Math.max(0, sign - SCHEME_LENGTH), sign)))
        if (mayHide(address, cut, hide))
          yield { start: start + cut.start, end: start + cut.end, marker: cut.marker };
    }
  },
};

/** A password that holds what ends a host may be no password: `https://host:0443/x@other` goes to `host`. */
function mayHide(address: string, cut: Cut, hide: HideRules): boolean {
  const isUnsure = address.charAt(cut.end) === "@" && /[/?#]/.test(address.slice(cut.start, cut.end));
  return hide.part(address, cut) && !(isUnsure && hide.purpose === "decision");
}

function cutsIn(address: string, scheme: string): Cut[] {
  const cuts = userinfo(address, scheme);
  if (/[/?&#]/.test(address)) cuts.push(...path(address), ...parameters(address));
  return cuts.filter(({ start, end }) => !isNoSecret(address.slice(start, end)));
}

function path(address: string): Cut[] {
  const start = WEBHOOK_HOST.exec(address)?.[0].length;
  if (start === undefined) return [];
  return [{ start, end: firstStop(address, PATH_END, start), marker: markerOf("WEBHOOK") }];
}

function parameters(address: string): Cut[] {
  if (!PARAMETER_LIKE.test(address)) return [];
  return [...address.matchAll(PARAMETER)].flatMap(({ 0: name, index }) => {
    const start = index + name.length;
    const end = firstStop(address, PARAMETER_END, start);
    const shortest = /sig|cred/i.test(name) ? SHORTEST_SIGNATURE : SHORTEST_KEY;
    return end - start < shortest ? [] : [{ start, end, marker: REDACTED }];
  });
}

function userinfo(address: string, scheme: string): Cut[] {
  const end = address.includes("@") ? userinfoEnd(address) : -1;
  if (end <= 0 || address.startsWith("@sha", end)) return [];
  const colon = address.indexOf(":");
  if (colon !== -1 && colon < end) return [{ start: colon + 1, end, marker: markerOf("PASSWORD") }];
  return HTTP.test(scheme) ? [{ start: 0, end, marker: markerOf("USERINFO") }] : [];
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

/** Without a flag for case, which would make it slow on text that has no such word. */
export const SCHEME_WORD = /[Bb](?:earer|asic)|B(?:EARER|ASIC)/;
const SCHEME = /\b(?:bearer|basic)(?:\s{1,4}|%20|\+)/gi;
const VALUE_END = /[^A-Za-z0-9._~+/=-]/g;
const SHORTEST_CREDENTIAL = 8;
/** A name is not longer. */
const LOOKED_AT = 400;

/** Credentials after the name of their scheme, with or without the header before it. */
export const authorizations: TextRule = {
  sign: SCHEME_WORD,
  *cuts(text, { hide }) {
    for (const { 0: scheme, index } of text.matchAll(SCHEME)) {
      const start = index + scheme.length;
      const end = firstStop(text, VALUE_END, start);
      const value = text.slice(start, end);
      const isBasic = /^basic/i.test(scheme);
      const cut = { start, end, marker: markerOf(isBasic ? "BASIC" : "BEARER") };
      if (!isBasic && value !== "" && !isPlaceholder(value) && isAll(text, { index, end })) {
        yield cut;
        continue;
      }
      if (value.length < SHORTEST_CREDENTIAL || (isBasic ? !isNameAndPassword(value) : isWord(value)))
        continue;
      // A name and password in Base64 is no program either, unless a slash makes it a path.
      if ((isBasic && !value.includes("/")) || hide.afterScheme(text, cut)) yield cut;
    }
  },
};

const HEADER_NAME = /^\s{0,9}(?:(?:proxy-)?authorization:\s{0,9})?$/i;

/** Whether a text is nothing but such a header: were it run, the program would be the name of the header or the scheme. */
function isAll(text: string, { index, end }: { index: number; end: number }): boolean {
  return (
    index <= LOOKED_AT &&
    HEADER_NAME.test(text.slice(0, index)) &&
    /^\s{0,9}$/.test(text.slice(end, end + 10))
  );
}

/** "Bearer certificates" is prose: a token has digits, signs or capitals inside, or is longer than words are. */
function isWord(value: string): boolean {
  return value.length < 20 && /^[A-Z]?[a-z]+(?:-[a-z]+)*[.-]?$/.test(value);
}

function isNameAndPassword(value: string): boolean {
  const decoded = Buffer.from(value.slice(0, LOOKED_AT), "base64").toString("utf8");
  return /^[\x20-\x7e\x80-\uffff]*:/.test(decoded);
}
