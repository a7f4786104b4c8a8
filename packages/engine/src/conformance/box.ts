import { cleanText } from "../execute/runners/describe-thrown.ts";

/** One line of the compliance checklist, answered by a check that was really made. */
export interface Box {
  /** Its number in the checklist, such as "9.2.1". */
  id: string;
  section: "tool" | "runtime" | "integration";
  title: string;
  passed: boolean;
  /** What was seen; when not passed, what was missing. */
  evidence: string;
  /** The tool@version a tool box is about. */
  subject?: string;
  /** Not passed because this version does not have the thing at all; said openly, and no failure of the house. */
  notInThisVersion?: true;
}

/** What a check came to. */
export type Seen = Pick<Box, "passed" | "evidence" | "notInThisVersion">;

/** A box before its check was made. */
export type OpenBox = Omit<Box, keyof Seen>;

/** Makes the check and fills in the box. A check that throws leaves it unticked, with the error as evidence. */
export async function fillBox(open: OpenBox, check: () => Seen | Promise<Seen>): Promise<Box> {
  try {
    return { ...open, ...(await check()) };
  } catch (error) {
    return { ...open, passed: false, evidence: cleanText(`the check itself failed: ${String(error)}`) };
  }
}

/** Gathers what a check expected and did not see; it passes only when nothing is missing. */
export class Findings {
  readonly #missing: string[] = [];

  expect(holds: boolean, otherwise: string): void {
    if (!holds) this.#missing.push(otherwise);
  }

  /** `evidence` is said only when everything that was expected held. */
  conclude(evidence: string): Seen {
    const missing = this.#missing;
    return missing.length === 0
      ? { passed: true, evidence }
      : { passed: false, evidence: missing.join("; ") };
  }
}
