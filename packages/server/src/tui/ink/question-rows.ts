import type { Question } from "@sallyport/loop";
import { textCells, wrapCells } from "../state/cell-width.ts";

/** The mark of the current question, and whether it is selected. */
export const MARK_CELLS = 6;
/** So much of a summary at least has to be there beside name and risk. */
const LEAST_SUMMARY = 12;
const BETWEEN = 2;

/** True where name, risk and the beginning of the summary stand in one row. */
export function isOneRow({ name, risk, summary }: Question, width: number): boolean {
  const told = Math.min(textCells(summary), LEAST_SUMMARY);
  return MARK_CELLS + textCells(name) + textCells(risk) + told + 2 * BETWEEN <= width;
}

/** Name and risk in as many rows as they need: neither may hide behind the edge. */
export function nameRows({ name, risk }: Question, width: number): string[] {
  return wrapCells(`${name}  ${risk}`, width);
}

/** How many rows a question takes that has to be seen whole. */
export function questionHeight(question: Question, width: number): number {
  return isOneRow(question, width) ? 1 : nameRows(question, width).length + 1;
}
