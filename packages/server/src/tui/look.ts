import type { Risk } from "@sallyport/protocol";

const UNICODE = {
  user: "›",
  assistant: "●",
  pending: "·",
  asking: "?",
  done: "✓",
  failed: "✗",
  refused: "⊘",
  warning: "⚠",
  ellipsis: "…",
  minus: "−",
  down: "↓",
  dot: "·",
  rule: "─",
  bar: "│",
  cursor: "▏",
  here: "❯",
  spinner: ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"],
} as const;

/** What is drawn. */
export type Glyphs = { [K in Exclude<keyof typeof UNICODE, "spinner">]: string } & {
  spinner: readonly string[];
};

const ASCII: Glyphs = {
  user: ">",
  assistant: "*",
  pending: ".",
  asking: "?",
  done: "v",
  failed: "x",
  refused: "-",
  warning: "!",
  ellipsis: "...",
  minus: "-",
  down: "v",
  dot: "|",
  rule: "-",
  bar: "|",
  cursor: "|",
  here: ">",
  spinner: ["|", "/", "-", "\\"],
};

const TONES = {
  accent: { color: "cyan" },
  strong: { bold: true },
  faint: { dimColor: true },
  good: { color: "green" },
  bad: { color: "red" },
  careful: { color: "yellow" },
  alarm: { color: "red", bold: true, inverse: true },
} as const;

export type Tone = keyof typeof TONES;

/** Properties of Ink's Text. */
export interface Paint {
  color?: string;
  bold?: boolean;
  dimColor?: boolean;
  inverse?: boolean;
}

/** How things look in this terminal. */
export interface Look {
  glyphs: Glyphs;
  colour: boolean;
  border: "round" | "classic";
  paint(tone: Tone | undefined): Paint;
}

export function lookOf({ unicode, colour }: { unicode: boolean; colour: boolean }): Look {
  return {
    glyphs: unicode ? UNICODE : ASCII,
    colour,
    border: unicode ? "round" : "classic",
    paint: (tone) => (tone === undefined || !colour ? {} : TONES[tone]),
  };
}

export const RISK_TONES: Record<Risk, Tone> = {
  low: "good",
  medium: "careful",
  high: "bad",
  critical: "alarm",
};

/** True where the terminal can show more than ASCII, as far as the environment tells. */
export function showsUnicode(env: Readonly<Record<string, string | undefined>>): boolean {
  const locale = env.LC_ALL || env.LC_CTYPE || env.LANG || "";
  return /utf-?8/i.test(locale);
}

/** True where colours are wanted (no-color.org). */
export function showsColour(env: Readonly<Record<string, string | undefined>>): boolean {
  return (env.NO_COLOR ?? "") === "" && env.TERM !== "dumb";
}
