import type { PersonsWord } from "@sallyport/engine/loop";
import { Box, Text } from "ink";
import type { AskedQuestion } from "../keys/approval-prompt.ts";
import { RISK_TONES } from "../look.ts";
import { isRisky } from "../question-text.ts";
import { type Drawn, h, useLook } from "./element.ts";
import { isOneRow, MARK_CELLS, nameRows } from "./question-rows.ts";

interface QuestionProps {
  asked: AskedQuestion;
  current: boolean;
  amongOthers: boolean;
  word: PersonsWord | undefined;
  width: number;
}

/** A question in the list: selected or not, name, risk, one line about it. */
export function QuestionLine(props: QuestionProps): Drawn {
  return isOneRow(props.asked.question, props.width) ? h(WideQuestion, props) : h(NarrowQuestion, props);
}

function WideQuestion({ asked, current, word }: QuestionProps) {
  const { glyphs, paint } = useLook();
  const { name, risk, summary } = asked.question;
  return h(
    Box,
    { flexShrink: 0 },
    h(
      Box,
      { flexShrink: 0, width: MARK_CELLS },
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

/** The same in several rows. */
function NarrowQuestion({ asked, amongOthers, word, width }: QuestionProps) {
  const { glyphs, paint } = useLook();
  const { question } = asked;
  const tone = isRisky(question.risk) ? RISK_TONES[question.risk] : "strong";
  return h(
    Box,
    { flexDirection: "column", flexShrink: 0 },
    ...nameRows(question, width).map((row) =>
      h(Text, { key: row, ...paint(tone), wrap: "truncate-end" }, row),
    ),
    h(
      Text,
      { wrap: "truncate-end" },
      amongOthers ? h(Text, paint("accent"), `${glyphs.here} `) : null,
      h(Text, paint(word ? "good" : "faint"), boxOf(word)),
      ` ${question.summary}`,
    ),
  );
}

function boxOf(word: PersonsWord | undefined): string {
  if (word === undefined) return "[ ]";
  if (word.kind === "edit") return "[e]";
  return word.kind === "approve" && word.always !== undefined ? "[A]" : "[x]";
}
