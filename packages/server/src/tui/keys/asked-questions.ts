import type { Question } from "@sallyport/loop";
import type { ChatCommands } from "../chat-commands.ts";
import type { Asking } from "../screen-person.ts";
import { cutCells } from "../state/cell-width.ts";
import { cleanDeep, cleanLine, visibleJson } from "../state/clean.ts";
import type { AskedQuestion } from "./approval-prompt.ts";

const LONGEST_NAME = 64;
const LONGEST_SUMMARY = 400;

/** Questions as they may be shown, beside what they were. */
export function askedQuestions(
  questions: readonly Question[],
  { refusals, commands }: { refusals: Asking["refusals"]; commands: Pick<ChatCommands, "standingScopes"> },
): AskedQuestion[] {
  return questions.map((raw) => {
    const refused = refusals.get(raw.index);
    const question = cleanDeep(raw);
    return {
      raw,
      question: {
        ...question,
        name: shortened(raw.name, LONGEST_NAME),
        summary: shortened(raw.summary, LONGEST_SUMMARY),
      },
      editable: visibleJson(refused?.input ?? raw.input, 2),
      scopes: commands.standingScopes(raw).map((scope) => ({ ...scope, label: cleanLine(scope.label) })),
      ...(refused && { refusal: cleanDeep(refused.error) }),
    };
  });
}

/** What is pushed out of sight by blanks would be agreed to unseen. */
const LONG_BLANK = / {8,}/g;

function blanks(run: string): string {
  return ` ⟨${run.length} blanks⟩ `;
}

function shortened(text: string, most: number): string {
  return cutCells(cleanLine(text).replaceAll(LONG_BLANK, blanks), most);
}
