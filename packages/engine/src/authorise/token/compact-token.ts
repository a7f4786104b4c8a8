import { type Failure, failure, type JsonObject } from "@sallyport/protocol";
import { decodeBase64url } from "./base64url.ts";
import { readStrictObject } from "./strict-json.ts";

/** Longer ones are not even looked at. */
export const MAX_TOKEN_CHARS = 8 * 1024;

/** The three parts of a compact JWS as they stand in the token. */
export interface TokenParts {
  header: string;
  payload: string;
  signature: string;
}

/** A token that was taken apart. Nothing in it is verified. */
export interface DecodedToken {
  header: JsonObject;
  payload: JsonObject;
}

/** E3201 with what is wrong; never quotes the token. */
export function invalidToken(message: string, advice?: string): Failure {
  return failure("E3201", { message, ...(advice !== undefined && { advice }) });
}

const RESEND =
  "Send the token exactly as its issuer gave it: three parts in base64url with dots between them.";

/** Cuts a token into exactly three parts that are not empty. */
export function splitToken(token: string): TokenParts | Failure {
  if (token.length > MAX_TOKEN_CHARS)
    return invalidToken(`The token is longer than ${MAX_TOKEN_CHARS} characters.`, RESEND);
  const first = token.indexOf(".");
  const second = token.indexOf(".", first + 1);
  if (first < 1 || second <= first + 1 || second === token.length - 1 || token.includes(".", second + 1))
    return invalidToken("The token does not have three parts.", RESEND);
  return {
    header: token.slice(0, first),
    payload: token.slice(first + 1, second),
    signature: token.slice(second + 1),
  };
}

/** The JSON object in the header or the payload; wrapped, because what is in it could pass itself off as a failure. */
export function readPart(part: string, name: "header" | "payload"): { value: JsonObject } | Failure {
  const bytes = decodeBase64url(part);
  if (!bytes) return invalidToken(`The token's ${name} is not base64url without padding.`, RESEND);
  const value = readStrictObject(bytes);
  if (typeof value !== "string") return { value };
  return invalidToken(
    `The token's ${name} ${value}.`,
    "Have the token issued anew, with well-formed JSON in it.",
  );
}
