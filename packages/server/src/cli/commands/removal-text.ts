import type { OutputSize } from "@sallyport/adapters/spill";
import { outputOf } from "../../chat/keeping/index.ts";
import { visible } from "../io.ts";
import { sizeText } from "../parse-size.ts";
import type { Removal } from "./removal.ts";

/** For programs. */
export function removalDocument({ gone, nobodys, compactedBytes, problems }: Removal) {
  return {
    removed: gone.map(({ problem, ...one }) => ({
      ...one,
      ...(problem !== undefined && { problem: wordsOf(problem) }),
    })),
    orphanedOutput: nobodys,
    problems: problems.map(wordsOf),
    freedBytes: outputOf(gone).bytes + nobodys.bytes + compactedBytes,
  };
}

/** For a person: each conversation, and what was freed. */
export function removalText(removal: Removal, { verb, none }: { verb: string; none?: string }): string {
  const { gone, nobodys, compactedBytes } = removal;
  const lines = gone.flatMap(({ conversationId, messages, output, problem }) => [
    `${verb} ${conversationId}: ${counted(messages, "message")}${withOutput(output)}.`,
    ...(problem === undefined
      ? []
      : [`! Its output could not be removed now, and goes later: ${wordsOf(problem)}`]),
  ]);
  if (gone.length === 0 && none !== undefined) lines.push(none);
  if (nobodys.files > 0) lines.push(`${verb} ${outputText(nobodys)} of conversations that are gone.`);
  const freed = outputOf(gone).bytes + nobodys.bytes + compactedBytes;
  if (freed > 0 && verb !== "Would remove") lines.push(`Freed ${sizeText(freed)}.`);
  lines.push(
    ...removal.problems.map((problem) => `! Some room could not be given back: ${wordsOf(problem)}`),
  );
  return lines.map(visible).join("\n");
}

function withOutput(output: OutputSize): string {
  return output.files === 0 ? "" : `, ${outputText(output)}`;
}

function outputText({ files, bytes }: OutputSize): string {
  return `${counted(files, "kept output")} (${sizeText(bytes)})`;
}

function counted(count: number, thing: string): string {
  return `${count} ${thing}${count === 1 ? "" : "s"}`;
}

function wordsOf(problem: unknown): string {
  return problem instanceof Error ? problem.message : String(problem);
}
