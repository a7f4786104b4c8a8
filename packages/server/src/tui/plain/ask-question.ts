import type { PersonDecision } from "@sallyport/loop";
import type { AskedQuestion } from "../keys/approval-prompt.ts";
import { BECAUSE, isRisky } from "../question-text.ts";
import { changedFiles } from "../state/changed-files.ts";
import { argumentRows, changeRows } from "../state/detail-rows.ts";
import type { LineReader } from "./line-reader.ts";

/** What a line-wise dialogue needs. */
export interface Dialogue {
  reader: LineReader;
  say(line: string): void;
  /** Without a line break, for a question. */
  prompt(text: string): void;
  signal: AbortSignal;
}

/** A word for this question, or for it and all that follow. */
export type PlainWord = PersonDecision | { kind: "rest"; word: PersonDecision };

/** Wide enough that nothing is broken into pieces. */
const WIDTH = 10_000;

/** Asks until there is an answer. The end of the input denies this and all that follow. */
export async function askQuestion(
  asked: AskedQuestion,
  place: string,
  dialogue: Dialogue,
): Promise<PlainWord> {
  introduce(asked, place, dialogue);
  const { name, risk } = asked.question;
  const always = asked.scopes.length > 0 ? " al[w]ays" : "";
  for (;;) {
    dialogue.prompt(
      `Approve ${name} (${risk} risk)? [y]es [n]o [p]review [v]iew arguments [e]dit${always} [a]ll [d]eny all: `,
    );
    const line = await dialogue.reader.next(dialogue.signal);
    if (line === undefined) return { kind: "rest", word: { kind: "deny" } };
    const word = await wordOf(line.trim().toLowerCase(), asked, dialogue);
    if (word !== undefined) return word;
  }
}

function introduce({ question, refusal }: AskedQuestion, place: string, { say }: Dialogue): void {
  const { name, risk, summary, because, preview } = question;
  say(`${place}${name}, ${risk} risk. ${summary}`);
  if (isRisky(risk)) say(`WARNING: ${risk.toUpperCase()} RISK. Look closely before it may run.`);
  say(`Why you are asked: ${BECAUSE[because]}`);
  if (refusal !== undefined) say(`The edit was refused: ${refusal.message}`);
  for (const file of changedFiles(preview).files) {
    say(`  Would change ${file.path} (+${file.added} -${file.removed})`);
  }
}

async function wordOf(
  choice: string,
  asked: AskedQuestion,
  dialogue: Dialogue,
): Promise<PlainWord | undefined> {
  const { question, editable } = asked;
  if (choice === "y" || choice === "yes") return { kind: "approve" };
  if (choice === "a" || choice === "all") return { kind: "rest", word: { kind: "approve" } };
  if (choice === "n" || choice === "no") return await denial(dialogue);
  if (choice === "d") return { kind: "rest", word: await denial(dialogue) };
  if (choice === "e") return await edit(dialogue);
  if (choice === "w" && asked.scopes.length > 0) return await scope(asked, dialogue);
  const rows =
    choice === "p" && question.preview ? changeRows(question.preview, WIDTH) : argumentRows(editable, WIDTH);
  if (choice === "p" || choice === "v") for (const { text } of rows) dialogue.say(`  ${text}`);
  return undefined;
}

async function denial(dialogue: Dialogue): Promise<PersonDecision> {
  const reason = (await answered("Why not? May stay empty: ", dialogue)).trim();
  return { kind: "deny", ...(reason !== "" && { reason }) };
}

async function edit(dialogue: Dialogue): Promise<PersonDecision | undefined> {
  const text = await answered("The new arguments, as JSON in one line: ", dialogue);
  try {
    return { kind: "edit", input: JSON.parse(text) };
  } catch {
    dialogue.say("That is not JSON.");
    return undefined;
  }
}

async function scope({ scopes }: AskedQuestion, dialogue: Dialogue): Promise<PersonDecision | undefined> {
  for (const [index, { label }] of scopes.entries()) dialogue.say(`  ${index + 1} ${label}`);
  const chosen = scopes[Number(await answered("Allow from now on (number, or nothing): ", dialogue)) - 1];
  return chosen && { kind: "approve", always: chosen.always };
}

async function answered(text: string, { reader, prompt, signal }: Dialogue): Promise<string> {
  prompt(text);
  return (await reader.next(signal)) ?? "";
}
