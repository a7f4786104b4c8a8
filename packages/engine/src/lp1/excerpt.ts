const MOST_CHARS = 120;
/** How much of what is equal is shown before the first difference of two long lines. */
const LEAD_CHARS = 40;
const ELLIPSIS = "…";
const UNSEEN = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\ufff9-\uffff]/gu;

function named(char: string): string {
  return char === "\t" ? "\\t" : `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`;
}

/** A bounded part of a line that is safe to show: a tab is `\t`, any other unseen character `\u{…}`. */
export function excerpt(line: string, from = 0): string {
  const part = line.slice(from, from + MOST_CHARS).replaceAll(UNSEEN, named);
  const before = from > 0 ? ELLIPSIS : "";
  return before + part + (from + MOST_CHARS < line.length ? ELLIPSIS : "");
}

/** Of two lines that differ, the parts around the first difference, begun at the same column. */
export function differingExcerpts(expected: string, found: string): { expected: string; found: string } {
  let same = 0;
  while (same < expected.length && expected[same] === found[same]) same += 1;
  const from = same + LEAD_CHARS > MOST_CHARS ? same - LEAD_CHARS : 0;
  return { expected: excerpt(expected, from), found: excerpt(found, from) };
}
