import { type Failure, failure } from "@sallyport/protocol";

/** A request whose parts fit their shapes and yet not each other; the place is named. */
export function malformed(path: string, reason: string, suggestion?: string): Failure {
  return failure("E3903", {
    message: `Malformed request: ${path} ${reason}.`,
    issues: [{ path, reason, ...(suggestion !== undefined && { suggestion }) }],
  });
}
