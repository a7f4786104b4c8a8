/** What a person does not see, or what changes how the rest is seen: controls, text direction, invisible letters. */
const UNSEEN = /[[\p{Cc}\p{Cs}\p{Default_Ignorable_Code_Point}\ufff9-\uffff]--[\u200c\u200d\ufe0e\ufe0f]]/gv;
/** Joiners belong to emoji and to scripts that join letters; anywhere else they only hide. */
const LOOSE_JOINER =
  /(?<!\p{Extended_Pictographic}|\p{Emoji_Modifier}|\ufe0f|\p{M}|\p{Script=Arabic}|\p{Script=Syriac})[\u200c\u200d]/gu;

function named(char: string): string {
  return `<U+${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}>`;
}

/** Where a line ends: a shell runs what follows as another command. */
const LINE_END = /[\n\r\v\f\u0085\u2028\u2029]/;

/**
 * The text on one line: `⏎` where lines ended, other white space narrowed to one space, and every unseen character named,
 * as in `<U+202E>`. Total.
 */
export function visible(text: string): string {
  return text
    .trim()
    .replaceAll(/[\s\u0085]+/g, (space) => (LINE_END.test(space) ? " ⏎ " : " "))
    .replaceAll(UNSEEN, named)
    .replaceAll(LOOSE_JOINER, named)
    .trim();
}

const graphemes = new Intl.Segmenter("en", { granularity: "grapheme" });
const ELLIPSIS = "…";

export interface Shortening {
  /** False when there was more than the text: then it ends in an ellipsis however short it is. */
  isWhole?: boolean;
}

/** At most `most` code points, the last an ellipsis when there was more; no character that people see is split. */
export function shortened(text: string, most: number, { isWhole = true }: Shortening = {}): string {
  let points = 0;
  let end = 0;
  let room = 0;
  for (const { segment, index } of graphemes.segment(text.slice(0, most * 4))) {
    points += [...segment].length;
    end = index + segment.length;
    if (points < most) room = end;
    if (points > most) break;
  }
  if (points <= most && end === text.length && isWhole) return text;
  return text.slice(0, room).trimEnd() + ELLIPSIS;
}
