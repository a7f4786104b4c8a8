import { Box, Text } from "ink";
import type { ChangedFile } from "../state/changed-files.ts";
import { type Drawn, h, useLook } from "./element.ts";

/** The files a call changed, with how many lines came and went. */
export function ChangedFiles({ files, more }: { files: readonly ChangedFile[]; more: number }): Drawn {
  const { glyphs, paint } = useLook();
  if (files.length === 0) return null;
  const rows = files.map(({ mark, path, added, removed }) =>
    h(
      Box,
      { key: path },
      h(Text, { ...paint("accent") }, `    ${mark} `),
      h(Text, { wrap: "truncate-middle" }, path),
      h(Box, { flexShrink: 0 }, h(LineCounts, { added, removed })),
    ),
  );
  const rest = more > 0 ? h(Text, paint("faint"), `    ${glyphs.ellipsis} and ${more} more`) : null;
  return h(Box, { flexDirection: "column" }, ...rows, rest);
}

/** `+3 −1`, nothing where nothing is known. */
export function LineCounts({ added, removed }: { added: number; removed: number }): Drawn {
  const { glyphs, paint } = useLook();
  if (added === 0 && removed === 0) return null;
  return h(
    Text,
    null,
    h(Text, paint("good"), `  +${added}`),
    h(Text, paint("bad"), ` ${glyphs.minus}${removed}`),
  );
}
