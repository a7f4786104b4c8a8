const WIDE =
  /^(?:\p{Emoji_Presentation}|\p{Emoji}\ufe0f|[\u1100-\u115f\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{1b000}-\u{1b2ff}\u{20000}-\u{3fffd}])/u;
const NOTHING = /^[\p{Mn}\p{Me}\p{Cf}]+$/u;
const PLAIN = /^[\u0020-\u007e]*$/;
const graphemes = new Intl.Segmenter(undefined, { granularity: "grapheme" });

/** The characters as a person sees them. */
export function graphemesOf(text: string): string[] {
  if (PLAIN.test(text)) return [...text];
  return Array.from(graphemes.segment(text), ({ segment }) => segment);
}

/** How many columns of a terminal one such character takes. */
export function cellsOf(grapheme: string): number {
  if (WIDE.test(grapheme)) return 2;
  return NOTHING.test(grapheme) ? 0 : 1;
}

/** How many columns of a terminal a text of one line takes. */
export function textCells(text: string): number {
  if (PLAIN.test(text)) return text.length;
  return graphemesOf(text).reduce((sum, grapheme) => sum + cellsOf(grapheme), 0);
}

/** A line broken at the width, between characters; nothing of it is left out. */
export function wrapCells(line: string, width: number): string[] {
  const room = Math.max(2, width);
  if (line.length <= room && PLAIN.test(line)) return [line];
  const rows: string[] = [];
  let row = "";
  let used = 0;
  for (const grapheme of graphemesOf(line)) {
    const cells = cellsOf(grapheme);
    if (used + cells > room) {
      rows.push(row);
      row = "";
      used = 0;
    }
    row += grapheme;
    used += cells;
  }
  return [...rows, row];
}

/** Text whose lines are broken between words where that is possible. */
export function wrapText(text: string, width: number): string {
  return text
    .split("\n")
    .flatMap((line) => wrapWords(line, width))
    .join("\n");
}

/** A line broken between words; the blanks at which it is broken are left out, those it begins with stay. */
export function wrapWords(line: string, width: number): string[] {
  if (textCells(line) <= width) return [line];
  const rows: string[] = [];
  let row = "";
  for (const token of line.match(/ +|[^ ]+/g) ?? []) {
    if (textCells(row + token) <= width) {
      row += token;
      continue;
    }
    if (row.trim() !== "") {
      rows.push(row.trimEnd());
      row = "";
    }
    const pieces = token.startsWith(" ") ? [""] : wrapCells(row + token, width);
    rows.push(...pieces.slice(0, -1));
    row = pieces.at(-1) ?? "";
  }
  return [...rows, row.trimEnd()];
}

/** A line that fits the width, with a mark at its end where something was cut. */
export function cutCells(line: string, width: number, mark = "…"): string {
  if (textCells(line) <= width) return line;
  return `${wrapCells(line, Math.max(2, width - textCells(mark)))[0] ?? ""}${mark}`;
}
