import { Box, Text } from "ink";
import { textCells } from "../state/cell-width.ts";
import type { DetailRow } from "../state/detail-rows.ts";
import { type Drawn, h, useLook } from "./element.ts";

interface DetailProps {
  /** Undefined where there is no room for one. */
  title?: string | undefined;
  rows: readonly DetailRow[];
  width: number;
  height: number;
  scroll: number;
}

/** A window over something longer; its heading says how much more there is. */
export function DetailView({ title, rows, width, height, scroll }: DetailProps): Drawn {
  const { glyphs, paint } = useLook();
  const start = Math.min(scroll, Math.max(0, rows.length - height));
  const shown = rows.slice(start, start + height);
  const below = rows.length - start - shown.length;
  const more = below > 0 ? `${glyphs.down} ${below} more (PgDn)` : "the end (PgUp)";
  return h(
    Box,
    { flexDirection: "column", flexShrink: 0 },
    title === undefined ? null : h(Heading, { title, more: rows.length > height ? more : "", width }),
    ...shown.map(({ tone, text }, index) =>
      h(Text, { key: start + index, ...paint(tone), wrap: "truncate-end" }, text === "" ? " " : text),
    ),
  );
}

/** A rule with a title, and at its end what can be scrolled to; where it is narrow, only that. */
export function Heading({ title, more, width }: { title: string; more: string; width: number }): Drawn {
  const { glyphs, paint } = useLook();
  const begin = `${glyphs.rule.repeat(2)} ${title} `;
  const end = more === "" ? "" : ` ${more} ${glyphs.rule.repeat(2)}`;
  const between = width - textCells(begin) - textCells(end);
  const text = between < 0 && more !== "" ? more : begin + glyphs.rule.repeat(Math.max(0, between)) + end;
  return h(Text, { ...paint("faint"), wrap: "truncate-end" }, text);
}
