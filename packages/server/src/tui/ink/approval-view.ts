import type { Question } from "@sallyport/engine/loop";
import { Box, Text } from "ink";
import { type ApprovalPrompt, currentOf, type ShownDetail } from "../keys/approval-prompt.ts";
import { hintLines, promptHints } from "../keys/prompt-hints.ts";
import { BECAUSE, isRisky } from "../question-text.ts";
import { wrapCells } from "../state/cell-width.ts";
import { ApprovalHelp } from "./approval-help.ts";
import { ApprovalTask } from "./approval-task.ts";
import { type Drawn, h, useLook } from "./element.ts";
import { QuestionDetail } from "./question-detail.ts";
import { QuestionLine } from "./question-line.ts";

interface ApprovalProps {
  prompt: ApprovalPrompt;
  columns: number;
  rows: number;
  showsDetail: (detail: ShownDetail) => void;
}

/** Rows of the margin, the frame, the title, the reason, the heading, the status line, and one that stays free. */
const AROUND = 8;

/** The approval prompt (FR-TUI-01). */
export function ApprovalView({ prompt, columns, rows, showsDetail }: ApprovalProps): Drawn {
  const { border, paint, colour } = useLook();
  const current = currentOf(prompt);
  if (current === undefined) return null;
  const { because } = current.question;
  const risky = riskyOf(prompt);
  const list = windowOf(prompt, Math.max(2, Math.floor(rows / 4)));
  const refusal = current.refusal
    ? wrapCells(`The edit was refused: ${current.refusal.message}`, columns - 4)
    : [];
  const banner = risky === undefined ? 0 : 1;
  const height = rows - AROUND - list.length - banner - refusal.length - belowRows(prompt, columns - 2);
  return h(
    Box,
    { flexDirection: "column", marginTop: 1 },
    h(
      Box,
      {
        flexDirection: "column",
        borderStyle: border,
        paddingX: 1,
        ...(colour && { borderColor: banner ? "red" : "yellow" }),
      },
      h(Text, { ...paint("strong"), wrap: "truncate-end" }, titleOf(prompt)),
      risky ? h(RiskBanner, risky) : null,
      ...list.map(({ asked, at }) =>
        h(QuestionLine, {
          key: at,
          asked,
          current: at === prompt.at,
          word: prompt.words.get(asked.raw.index),
        }),
      ),
      h(Text, { ...paint("faint"), wrap: "truncate-end" }, `Why you are asked: ${BECAUSE[because]}`),
      ...refusal.map((line) => h(Text, { key: line, ...paint("bad") }, line)),
      prompt.doing.task === "help"
        ? h(ApprovalHelp)
        : h(QuestionDetail, { prompt, width: columns - 4, height: Math.max(2, height), showsDetail }),
    ),
    h(ApprovalTask, { prompt, columns }),
  );
}

function titleOf({ asked, at }: ApprovalPrompt): string {
  if (asked.length === 1) return "May this run?";
  return `May these ${asked.length} calls run? (${at + 1} of ${asked.length})`;
}

/** What to warn of: the current question, or another of the batch, since all can be approved at once. */
function riskyOf({ asked, at }: ApprovalPrompt): Question | undefined {
  const questions = [asked[at], ...asked].flatMap((one) => (one === undefined ? [] : [one.question]));
  return questions.find(({ risk }) => isRisky(risk));
}

function RiskBanner({ risk, name }: Question) {
  const { glyphs, paint } = useLook();
  const text = ` ${glyphs.warning} ${risk.toUpperCase()} RISK: look closely before ${name} may run `;
  return h(Text, { ...paint("alarm"), wrap: "truncate-end" }, text);
}

/** The questions around the current one. */
function windowOf({ asked, at }: ApprovalPrompt, size: number) {
  const start = Math.max(0, Math.min(at - Math.floor(size / 2), asked.length - size));
  return asked.map((one, index) => ({ asked: one, at: index })).slice(start, start + size);
}

/** What `ApprovalTask` takes. */
function belowRows(prompt: ApprovalPrompt, width: number): number {
  const { doing, hint } = prompt;
  const hints = hintLines(promptHints(prompt), width).length + (hint === undefined ? 0 : 1);
  if (doing.task === "scope") return hints + 1 + doing.scopes.length;
  if (doing.task === "reason") return hints + 1;
  return doing.task === "edit" && doing.problem !== undefined ? hints + 1 : hints;
}
