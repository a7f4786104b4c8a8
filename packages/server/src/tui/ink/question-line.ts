import type { PersonsWord } from "@sallyport/engine/loop";
import { Box, Text } from "ink";
import type { AskedQuestion } from "../keys/approval-prompt.ts";
import { RISK_TONES } from "../look.ts";
import { type Drawn, h, useLook } from "./element.ts";

interface QuestionProps {
  asked: AskedQuestion;
  current: boolean;
  word: PersonsWord | undefined;
}

/** A question in the list: selected or not, name, risk, one line about it. */
export function QuestionLine({ asked, current, word }: QuestionProps): Drawn {
  const { glyphs, paint } = useLook();
  const { name, risk, summary } = asked.question;
  return h(
    Box,
    null,
    h(
      Box,
      { flexShrink: 0, width: 6 },
      h(Text, paint("accent"), current ? `${glyphs.here} ` : "  "),
      h(Text, paint(word ? "good" : "faint"), boxOf(word)),
    ),
    h(
      Text,
      { wrap: "truncate-end" },
      h(Text, paint("strong"), name),
      "  ",
      h(Text, paint(RISK_TONES[risk]), risk),
      `  ${summary}`,
    ),
  );
}

function boxOf(word: PersonsWord | undefined): string {
  if (word === undefined) return "[ ]";
  if (word.kind === "edit") return "[e]";
  return word.kind === "approve" && word.always !== undefined ? "[A]" : "[x]";
}
