import { isUtf8 } from "node:buffer";
import { redactText } from "@sallyport/engine";
import { createTwoFilesPatch, FILE_HEADERS_ONLY } from "diff";

/** How many lines may differ before working the difference out costs more than it shows. */
const MOST_EDITS = 4_000;

/** A file's name and content on one side; no name where it is not there. */
export interface DiffSide {
  path?: string;
  content: Buffer;
}

export type TextDiff = { kind: "text"; diff: string } | { kind: "binary" } | { kind: "too different" };

/**
 * The difference of two texts in the usual form, secrets taken out. They are taken out of the texts before they are
 * compared, as marks in front of the lines could hide one; and once more of what is shown.
 */
export function textDiff(before: DiffSide, after: DiffSide): TextDiff {
  if (!isText(before.content) || !isText(after.content)) return { kind: "binary" };
  const [old, fresh] = [before, after].map(({ content }) => redactText(content.toString()));
  const diff = createTwoFilesPatch(
    side("a", before),
    side("b", after),
    old ?? "",
    fresh ?? "",
    undefined,
    undefined,
    {
      context: 3,
      maxEditLength: MOST_EDITS,
      headerOptions: FILE_HEADERS_ONLY,
    },
  );
  return diff === undefined ? { kind: "too different" } : { kind: "text", diff: redactText(diff) };
}

/** Text that is not UTF-8 counts as binary. */
function isText(content: Buffer): boolean {
  return isUtf8(content) && !content.includes(0);
}

function side(prefix: string, { path }: DiffSide): string {
  return path === undefined
    ? "/dev/null"
    : `${prefix}/${path.replaceAll("\n", "\\n").replaceAll("\r", "\\r")}`;
}
