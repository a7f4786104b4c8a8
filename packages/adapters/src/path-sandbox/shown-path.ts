const MOST_SHOWN = 120;
/** Controls, halves of characters, text direction, invisible letters, line ends, and what would end the quotation. */
const ODD = /[\p{Cc}\p{Cs}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}"]/gu;

/** A path as it may stand in a message: one line, in quotes, bounded, every odd character named (`<U+202E>`). */
export function shownPath(path: string): string {
  return `"${boundedPath(path)}"`;
}

/** The same without quotes, for details. The end of a long path says more than its middle. */
export function boundedPath(path: string): string {
  const points = [...path.slice(0, 10 * MOST_SHOWN)];
  if (points.length <= MOST_SHOWN) return visible(path);
  const end = [...path.slice(-2 * MOST_SHOWN)].slice(-MOST_SHOWN / 2);
  return `${visible(points.slice(0, MOST_SHOWN / 2).join(""))}…${visible(end.join(""))}`;
}

function visible(text: string): string {
  return text.replaceAll(ODD, (char) => {
    const code = (char.codePointAt(0) ?? 0).toString(16).toUpperCase();
    return `<U+${code.padStart(4, "0")}>`;
  });
}
