import { closeSync, fstatSync, openSync, readFileSync } from "node:fs";
import { createSecureContext } from "node:tls";
import { type Failure, failure, isFailure } from "@sallyport/protocol";

/** A certificate with its key, as the server takes them. */
export interface TlsPair {
  cert: Buffer;
  key: Buffer;
}

const OPEN_TO_ALL = 0o007;
const MAX_BYTES = 256 * 1024;

/** Reads both files and makes sure that they belong together; E3227 says which file cannot be used, never what is in it. */
export function readTlsFiles({ cert, key }: { cert: string; key: string }): TlsPair | Failure {
  const certificate = readPem(cert, "certificate");
  if (isFailure(certificate)) return certificate;
  const secret = readPem(key, "key");
  if (isFailure(secret)) return secret;
  const pair = { cert: certificate, key: secret };
  return pairTrouble(pair, { cert, key }) ?? pair;
}

/** Looked at and read through one handle, so that nobody can swap it in between. Links are followed: tools make them. */
function readPem(file: string, kind: "certificate" | "key"): Buffer | Failure {
  try {
    const handle = openSync(file, "r");
    try {
      const { mode, size } = fstatSync(handle);
      if (size > MAX_BYTES) return trouble(`${file} is larger than any ${kind}.`);
      if (kind === "key" && (mode & OPEN_TO_ALL) !== 0)
        return trouble(`The TLS key ${file} is open to everybody on this machine.`, `Run: chmod 600 ${file}`);
      return readFileSync(handle);
    } finally {
      closeSync(handle);
    }
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return trouble(`The TLS ${kind} cannot be read: ${reason}`);
  }
}

function pairTrouble(pair: TlsPair, files: { cert: string; key: string }): Failure | undefined {
  try {
    createSecureContext(pair);
    return undefined;
  } catch {
    // What OpenSSL says about it helps nobody and may quote it.
    return trouble(
      `${files.cert} and ${files.key} are not a PEM certificate and the key that belongs to it.`,
    );
  }
}

function trouble(message: string, advice?: string): Failure {
  const correct = "Correct http.tls.cert and http.tls.key in the configuration.";
  return failure("E3227", { message, advice: advice ?? correct });
}
