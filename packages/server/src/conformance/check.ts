/** One line of the compliance checklist with its result. */
export interface Check {
  /** Its number in the checklist, such as "9.2.1". */
  id: string;
  section: "tool" | "runtime" | "integration";
  title: string;
  passed: boolean;
  /** What was seen; when not passed, what was missing. */
  evidence: string;
  /** The tool@version that a check of a tool is about. */
  subject?: string;
}

/** Notes `otherwise` as missing unless `holds`. */
export type Expect = (holds: boolean, otherwise: string) => void;

/** Makes a check and returns the evidence that counts when nothing was missing. */
export type Procedure<Context> = (context: Context, expect: Expect) => string | Promise<string>;

/** The checks of one section. */
export interface Checklist<Context> {
  section: Check["section"];
  checks: readonly (readonly [id: string, title: string, run: Procedure<Context>])[];
}

/** Makes every check of the list, one after the other. Never rejects. */
export async function runChecks<Context>(
  { section, checks }: Checklist<Context>,
  context: Context,
  subject?: string,
): Promise<Check[]> {
  const results: Check[] = [];
  for (const [id, title, run] of checks) {
    const verdict = await judge((expect) => run(context, expect));
    results.push({ id, section, title, ...(subject && { subject }), ...verdict });
  }
  return results;
}

/** Passes when nothing that was expected is missing. A procedure that throws does not pass; the error is the evidence. */
async function judge(run: (expect: Expect) => string | Promise<string>) {
  const missing: string[] = [];
  try {
    const evidence = await run((holds, otherwise) => {
      if (!holds) missing.push(otherwise);
    });
    return missing.length === 0
      ? { passed: true, evidence }
      : { passed: false, evidence: missing.join("; ") };
  } catch (error) {
    return { passed: false, evidence: `the check itself failed: ${String(error).slice(0, 1_000)}` };
  }
}
