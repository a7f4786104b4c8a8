import type { PersonDecision, Question } from "@sallyport/loop";
import { Box, Text } from "ink";
import {
  type ApprovalPrompt,
  type AskedQuestion,
  currentOf,
  type PromptTask,
} from "../keys/approval-prompt.ts";
import type { Draft } from "../keys/draft.ts";
import { promptHints } from "../keys/prompt-hints.ts";
import { RISK_TONES } from "../look.ts";
import { BECAUSE, isRisky } from "../question-text.ts";
import { textCells } from "../state/cell-width.ts";
import { DraftView } from "./draft-view.ts";
import { type Drawn, h, useLook } from "./element.ts";
import { KeyHints } from "./key-hints.ts";
import type { PromptLayout } from "./prompt-layout.ts";
import type { DrawnPrompt } from "./prompt-sight.ts";
import { QuestionDetail, useDetailRows } from "./question-detail.ts";
import { isOneRow, MARK_CELLS, nameRows } from "./question-rows.ts";
import { scopeRows } from "./task-rows.ts";

const ASKED_WHY = "Why not? ";

interface TaskProps {
  prompt: ApprovalPrompt;
  layout: PromptLayout;
  columns: number;
  armed: boolean;
}

/** Below the prompt: what the person is asked for, and which keys there are. */
function ApprovalTask({ prompt, layout, columns, armed }: TaskProps): Drawn {
  const { paint } = useLook();
  const { doing, hint } = prompt;
  const problem = doing.task === "edit" ? doing.problem : undefined;
  const width = columns - 2;
  return h(
    Box,
    { flexDirection: "column", paddingX: 1, flexShrink: 0 },
    layout.hint
      ? h(Text, { ...paint(problem ? "bad" : "careful"), wrap: "truncate-end" }, problem ?? hint)
      : null,
    doing.task === "reason" ? h(ReasonLine, { draft: doing.draft, width }) : null,
    doing.task === "scope" ? h(ScopeList, { doing, width, rows: layout.task }) : null,
    h(KeyHints, { hints: promptHints(prompt), width, most: layout.keys, armed }),
  );
}

function ReasonLine({ draft, width }: { draft: Draft; width: number }) {
  const { paint } = useLook();
  return h(
    Box,
    { flexShrink: 0 },
    h(Box, { flexShrink: 0 }, h(Text, paint("careful"), ASKED_WHY)),
    h(DraftView, { draft, width: width - ASKED_WHY.length, height: 1 }),
  );
}

interface ScopesProps {
  doing: Extract<PromptTask, { task: "scope" }>;
  width: number;
  rows: number;
}

/** The scopes, or as many rows of them as there are from the current one on. */
function ScopeList({ doing: { scopes, at }, width, rows }: ScopesProps) {
  const { glyphs, paint } = useLook();
  const all = scopeRows(scopes, width).flatMap((lines, scope) =>
    lines.map((text, line) => ({ text: `${scope === at && line === 0 ? glyphs.here : " "} ${text}`, scope })),
  );
  const headed = rows > all.length;
  const first = all.findIndex(({ scope }) => scope === at);
  const from = Math.max(0, Math.min(first, all.length - rows));
  return h(
    Box,
    { flexDirection: "column", flexShrink: 0 },
    headed
      ? h(Text, { ...paint("careful"), wrap: "truncate-end" }, "Allow from now on, without asking:")
      : null,
    ...all
      .slice(from, from + rows)
      .map(({ text, scope }, index) =>
        h(
          Text,
          { key: from + index, ...paint(scope === at ? "accent" : undefined), wrap: "truncate-end" },
          text,
        ),
      ),
  );
}

interface ApprovalProps {
  prompt: ApprovalPrompt;
  layout: PromptLayout;
  columns: number;
  armed: boolean;
  draws: (drawn: DrawnPrompt) => boolean;
}

/** The approval prompt (FR-TUI-01), in the room it was given. */
export function ApprovalView({ prompt, layout, columns, draws, ...input }: ApprovalProps): Drawn {
  const rows = useDetailRows(prompt, layout.width);
  const armed = draws(drawnOf(prompt, { layout, columns, rows: rows.length })) && input.armed;
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

interface QuestionProps {
  asked: AskedQuestion;
  current: boolean;
  amongOthers: boolean;
  word: PersonDecision | undefined;
  width: number;
}

/** A question in the list: selected or not, name, risk, one line about it. */
function QuestionLine(props: QuestionProps): Drawn {
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

function boxOf(word: PersonDecision | undefined): string {
  if (word === undefined) return "[ ]";
  if (word.kind === "edit") return "[e]";
  return word.kind === "approve" && word.always !== undefined ? "[A]" : "[x]";
}
