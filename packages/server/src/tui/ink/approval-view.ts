import type { Question } from "@sallyport/engine/loop";
import { Box, Text } from "ink";
import { type ApprovalPrompt, currentOf } from "../keys/approval-prompt.ts";
import { BECAUSE, isRisky } from "../question-text.ts";
import { textCells } from "../state/cell-width.ts";
import { ApprovalTask } from "./approval-task.ts";
import { type Drawn, h, useLook } from "./element.ts";
import type { PromptLayout } from "./prompt-layout.ts";
import type { DrawnPrompt } from "./prompt-sight.ts";
import { QuestionDetail, useDetailRows } from "./question-detail.ts";
import { QuestionLine } from "./question-line.ts";
import { scopeRows } from "./task-rows.ts";

interface ApprovalProps {
  prompt: ApprovalPrompt;
  layout: PromptLayout;
  columns: number;
  armed: boolean;
  draws: (drawn: DrawnPrompt) => void;
}

/** The approval prompt (FR-TUI-01), in the room it was given. */
export function ApprovalView({ prompt, layout, columns, armed, draws }: ApprovalProps): Drawn {
  const rows = useDetailRows(prompt, layout.width);
  draws(drawnOf(prompt, { layout, columns, rows: rows.length }));
  if (!layout.fits) return h(TooSmall, { armed });
  return h(
    Box,
    { flexDirection: "column", flexShrink: 0, marginTop: layout.margin ? 1 : 0 },
    h(Frame, { prompt, layout }, h(QuestionDetail, { prompt, layout, rows })),
    h(ApprovalTask, { prompt, layout, columns, armed }),
  );
}

function drawnOf(
  { doing }: ApprovalPrompt,
  { layout, columns, rows }: { layout: PromptLayout; columns: number; rows: number },
): DrawnPrompt {
  const { fits, listed, detail, task } = layout;
  const all = doing.task === "scope" ? scopeRows(doing.scopes, columns - 2).flat().length : 0;
  const scopes = doing.task !== "scope" ? "none" : task >= all ? "all" : "current";
  const most = Math.max(0, rows - detail.rows);
  return { fits, listed, page: Math.max(1, detail.rows - 1), most, scopes };
}

/** Only denying is offered: nobody can agree to what cannot be seen. */
function TooSmall({ armed }: { armed: boolean }) {
  const { paint } = useLook();
  const text = `Too small to ask you. Enlarge the window; ${armed ? "" : "one moment, then "}d denies.`;
  return h(Text, paint(armed ? "careful" : "faint"), text);
}

interface FrameProps {
  prompt: ApprovalPrompt;
  layout: PromptLayout;
  children?: Drawn;
}

function Frame({ prompt, layout, children }: FrameProps) {
  const { border, paint, colour } = useLook();
  const current = currentOf(prompt);
  const risky = riskyOf(prompt);
  const frame = {
    borderStyle: border,
    paddingX: 1,
    ...(colour && { borderColor: risky ? "red" : "yellow" }),
  };
  return h(
    Box,
    { flexDirection: "column", flexShrink: 0, ...(layout.framed && frame) },
    layout.title ? h(Title, { prompt, layout }) : null,
    risky && layout.banner ? h(RiskBanner, risky) : null,
    ...layout.listed.map((place) => h(Listed, { key: place, prompt, place, layout })),
    layout.because && current
      ? h(
          Text,
          { ...paint("faint"), wrap: "truncate-end" },
          `Why you are asked: ${BECAUSE[current.question.because]}`,
        )
      : null,
    ...layout.refusal.map((line) => h(Text, { key: line, ...paint("bad") }, line)),
    children,
  );
}

function Listed({ prompt, place, layout }: { prompt: ApprovalPrompt; place: number; layout: PromptLayout }) {
  const { width, listed } = layout;
  const asked = prompt.asked[place];
  if (asked === undefined) return null;
  const word = prompt.words.get(asked.raw.index);
  return h(QuestionLine, {
    asked,
    current: place === prompt.at,
    amongOthers: listed.length > 1,
    word,
    width,
  });
}

/** Where there is no room for a warning of its own, the title warns of the question below it. */
function Title({ prompt, layout }: { prompt: ApprovalPrompt; layout: PromptLayout }) {
  const { glyphs, paint } = useLook();
  const question = currentOf(prompt)?.question;
  const risky = question && !layout.banner && isRisky(question.risk) ? question : undefined;
  const warning = risky === undefined ? "" : `${glyphs.warning} ${risky.risk.toUpperCase()} RISK: `;
  const titles = titlesOf(prompt).map((title) => warning + title);
  const fitting = titles.find((title) => textCells(title) <= layout.width) ?? titles.at(-1);
  return h(Text, { ...paint(risky ? "alarm" : "strong"), wrap: "truncate-end" }, fitting);
}

/** From the longest to the shortest. */
function titlesOf({ asked, at }: ApprovalPrompt): string[] {
  if (asked.length === 1) return ["May this run?", "Run it?"];
  const place = `${at + 1} of ${asked.length}`;
  return [`May these ${asked.length} calls run? (${place})`, `May they run? ${place}`, place];
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
