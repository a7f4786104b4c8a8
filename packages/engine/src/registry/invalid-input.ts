import type { Issue } from "@sallyport/protocol";
import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { VendorSchema } from "./vendor-schema.ts";

/** Thrown by a tool whose own schema refuses the input; runners report it as bad arguments, not as a failed tool. */
export class InvalidInput extends Error {
  /** An own property, because an error that crosses a thread keeps only those. */
  readonly invalidInput = true;
  readonly issues: Issue[];

  constructor(issues: Issue[]) {
    super(`Invalid input: ${issues.map(({ path, reason }) => `${path || "/"} ${reason}`).join("; ")}`);
    this.name = "InvalidInput";
    this.issues = issues;
  }
}

/** The typed value of an input, by the library's own validation. Throws InvalidInput when it refuses. */
export async function parsed(schema: VendorSchema, raw: unknown): Promise<unknown> {
  const result = await schema["~standard"].validate(raw);
  if (result.issues) throw new InvalidInput(result.issues.map(issueOf));
  return result.value;
}

function issueOf({ message, path = [] }: StandardSchemaV1.Issue): Issue {
  return { path: path.map((segment) => `/${escapeToken(segment)}`).join(""), reason: message };
}

function escapeToken(segment: PropertyKey | StandardSchemaV1.PathSegment): string {
  const key = typeof segment === "object" ? segment.key : segment;
  return String(key).replaceAll("~", "~0").replaceAll("/", "~1");
}
