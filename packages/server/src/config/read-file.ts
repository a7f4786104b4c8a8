import { closeSync, openSync, readSync } from "node:fs";
import { type Failure, failure } from "@sallyport/protocol";

const MAX_BYTES = 1024 * 1024;

/** The text of a configuration file; undefined when there is none; E3919 when it is too large, no text, or unreadable. */
export function readConfigFile(path: string): string | Failure | undefined {
  try {
    const bytes = readAtMost(path, MAX_BYTES + 1);
    if (bytes.length > MAX_BYTES) return unusable(path, `is larger than ${MAX_BYTES} bytes`);
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    if (error instanceof TypeError) return unusable(path, "is not text in UTF-8");
    return unusable(path, `cannot be read: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** Never more than was asked for, whatever the file says about its size. */
function readAtMost(path: string, most: number): Uint8Array {
  const buffer = new Uint8Array(most);
  const handle = openSync(path, "r");
  try {
    let length = 0;
    for (let read = 1; read > 0 && length < most; length += read) {
      read = readSync(handle, buffer, length, most - length, null);
    }
    return buffer.subarray(0, length);
  } finally {
    closeSync(handle);
  }
}

function unusable(path: string, why: string): Failure {
  return failure("E3919", {
    message: `The configuration file ${path} ${why}.`,
    advice: "Name a sallyport.yaml with --config, or make one with `sallyport init`.",
  });
}
