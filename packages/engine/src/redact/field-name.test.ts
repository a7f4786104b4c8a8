import { describe, expect, it } from "vitest";
import { fieldJudge } from "./field-name.ts";

const judge = fieldJudge();

/** One name as people write it: in camel, Pascal, snake, kebab, upper and dotted case, with spaces, and all in one. */
function spellings(words: string): string[] {
  const parts = words.split(" ");
  const capital = (word: string) => word.charAt(0).toUpperCase() + word.slice(1);
  const pascal = parts.map(capital).join("");
  return [
    words,
    pascal,
    pascal.charAt(0).toLowerCase() + pascal.slice(1),
    parts.join("_"),
    parts.join("-"),
    parts.join("_").toUpperCase(),
    parts.join("."),
    parts.map(capital).join(" "),
    parts.map(capital).join("-"),
  ];
}

const SECRET = (
  "password, passwords, user password, new password, password confirmation, password hash, passwd, " +
  "passphrase, pwd, secret, secrets, client secret, secret string, token, access token, refresh token, " +
  "id token, session token, bearer token, csrf token, x amz security token, auth tokens value, api key, " +
  "api keys, x api key, authorization, proxy authorization, auth header, credential, aws credentials, " +
  "private key, access key, access key id, aws secret access key, secret key, signing key, " +
  "encryption key, connection string, credit card, credit card number, card number, cvv, cvc, ssn, " +
  "social security number, pin, pin code, otp, cookie, set cookie, session id, recovery codes, jwt, " +
  "password 2"
).split(", ");

const ORDINARY = (
  "a, max tokens, token count, tokens used, tokenizer, total tokens, next token, page token, token type, " +
  "token url, secret name, secretary, password policy, passage, compass, bypass, spin, mapping, opinion, " +
  "primary key, public key, idempotency key, key, keys, author, authority, authorized by, cookie policy, " +
  "discard, card, cardinality, session, dsn, status code, country code, account sid, message id, robot"
).split(", ");

describe("names of fields [L3P2-3]", () => {
  it.each([
    ["secret", SECRET],
    ["ordinary", ORDINARY],
  ] as const)("are %s in every spelling", (kind, names) => {
    expect(names.flatMap(spellings).filter((name) => judge(name) !== kind)).toEqual([]);
  });

  it("knows names written together", () => {
    const together =
      "dbpassword apikey accesstoken clientsecret sessionid APIKey DBPassword user[password] PHPSESSID sid";
    expect(together.split(" ").filter((name) => judge(name) !== "secret")).toEqual([]);
  });

  it("lets numbers through where a name may count something", () => {
    expect([judge("tokens"), judge("pass")]).toEqual(Array(2).fill("secret_unless_number"));
    expect(judge("usedTokens")).toBe("ordinary");
  });

  it("learns more names, in every spelling and as the end of longer ones", () => {
    const more = fieldJudge(["Patient Name", "iban"]);
    for (const name of [...spellings("patient name"), "IBAN", "customerIban", "first_patient_name"])
      expect(more(name)).toBe("secret");
    for (const name of ["patient", "name", "ibanez"]) expect(more(name)).toBe("ordinary");
    expect(more("password")).toBe("secret");
  });

  it("takes no time on a name of a megabyte", () => {
    const before = performance.now();
    expect(judge(`${"passwor".repeat(150_000)}d`)).toBe("secret");
    expect(performance.now() - before).toBeLessThan(10_000);
  });
});
