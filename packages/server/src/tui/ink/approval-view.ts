import { Box, Text } from "ink";
import { type ApprovalPrompt, currentOf } from "../keys/approval-prompt.ts";
import { BECAUSE } from "../question-text.ts";
import { ApprovalHelp } from "./approval-help.ts";
import { ApprovalTask } from "./approval-task.ts";
import { h, useLook } from "./element.ts";
import { QuestionDetail } from "./question-detail.ts";
import { QuestionLine } from "./question-line.ts";

interface ApprovalProps {
  prompt: ApprovalPrompt;
  columns: number;
  rows: number;
}

/** Rows that are taken by the frame, the title, the reason, the keys and the status line. */
const AROUND = 9;

/** The approval prompt (FR-TUI-01). */
export function ApprovalView({ prompt, columns, rows }: ApprovalProps) {
  const { border, paint, colour } = useLook();
  const current = currentOf(prompt);
  if (current === undefined) return null;
  const risky = current.question.risk === "high" || current.question.risk === "critical";
  const list = windowOf(prompt, Math.max(2, Math.floor(rows / 4)));
  const narrow = columns < 60 ? 1 : 0;
  const used =
    AROUND + list.length + (risky ? 1 : 0) + (current.refusal ? 2 : 0) + (prompt.hint ? 1 : 0) + narrow;
  const height = Math.max(2, rows - used);
  const frame = colour ? { borderColor: risky ? "red" : "yellow" } : {};
  return h(
    Box,
    { flexDirection: "column", marginTop: 1 },
    h(
      Box,
      { flexDirection: "column", borderStyle: border, paddingX: 1, ...frame },
      h(Text, { ...paint("strong"), wrap: "truncate-end" }, titleOf(prompt)),
      risky ? h(RiskBanner, { risk: current.question.risk, name: current.question.name }) : null,
      ...list.map(({ asked, at }) =>
        h(QuestionLine, {
          key: at,
          asked,
          current: at === prompt.at,
          word: prompt.words.get(asked.raw.index),
        }),
      ),
      h(
        Text,
        { ...paint("faint"), wrap: "truncate-end" },
        `Why you are asked: ${BECAUSE[current.question.because]}`,
      ),
      current.refusal ? h(Text, paint("bad"), `The edit was refused: ${current.refusal.message}`) : null,
      prompt.doing.task === "help"
        ? h(ApprovalHelp)
        : h(QuestionDetail, { prompt, width: columns - 4, height }),
    ),
    h(ApprovalTask, { prompt }),
  );
}

function titleOf({ asked, at }: ApprovalPrompt): string {
  if (asked.length === 1) return "May this run?";
  return `May these ${asked.length} calls run? (${at + 1} of ${asked.length})`;
}

function RiskBanner({ risk, name }: { risk: string; name: string }) {
  const { glyphs, paint } = useLook();
  const text = ` ${glyphs.warning} ${risk.toUpperCase()} RISK: look closely before ${name} may run `;
  return h(Text, { ...paint("alarm"), wrap: "truncate-end" }, text);
}

/** The questions around the current one. */
function windowOf({ asked, at }: ApprovalPrompt, size: number) {
  const start = Math.max(0, Math.min(at - Math.floor(size / 2), asked.length - size));
  return asked.map((one, index) => ({ asked: one, at: index })).slice(start, start + size);
}
