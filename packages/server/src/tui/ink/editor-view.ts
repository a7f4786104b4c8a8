import { Box } from "ink";
import type { Draft } from "../keys/draft.ts";
import { Heading } from "./detail-view.ts";
import { DraftView } from "./draft-view.ts";
import { type Drawn, h } from "./element.ts";

interface EditorProps {
  draft: Draft;
  width: number;
  height: number;
  headed: boolean;
}

/** A small editor of several lines. */
export function EditorView({ draft, width, height, headed }: EditorProps): Drawn {
  return h(
    Box,
    { flexDirection: "column", flexShrink: 0 },
    headed ? h(Heading, { title: "Edit the arguments", more: "", width }) : null,
    h(DraftView, { draft, width, height }),
  );
}
