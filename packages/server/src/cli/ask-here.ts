import { createInterface } from "node:readline/promises";
import { isFailure, type JsonValue } from "@sallyport/protocol";
import type { EngineAccess } from "../desk/index.ts";
import { questionText } from "./commands/approvals-look.ts";
import { madeGrant, tellGrant } from "./made-grant.ts";
import { failureText } from "./render-answer.ts";
import type { Session } from "./session.ts";

const CHOICES =
  "[y]es, [n]o, [e]dit the arguments, [a]lways for exactly these arguments, [l]eave it pending: ";

interface Here {
  session: Session;
  signal: AbortSignal;
}

/** Asks the person at this terminal. Returns when the question is answered, or left to somebody else. */
export async function askHere(approvalId: string, { session, signal }: Here): Promise<void> {
  const lines = createInterface({ input: session.io.stdin, output: session.io.stderr });
  // The end of the input (Ctrl-D) leaves the question to somebody else; a closed prompt would never answer.
  const ended = new AbortController();
  lines.once("close", () => ended.abort());
  // The prompt keeps Ctrl-C from the process; it means there what it means everywhere.
  lines.on("SIGINT", () => process.kill(process.pid, "SIGINT"));
  const prompting = AbortSignal.any([signal, ended.signal]);
  const ask = (text: string) => lines.question(text, { signal: prompting });
  let digest: string | undefined;
  try {
    while (!signal.aborted) {
      const record = await session.reading((store) => store.approvals.get(approvalId));
      if (!record) return;
      // Shown again when somebody has changed the arguments: a yes is to what was seen.
      if (record.digest !== digest) session.output.note(`\n${questionText(record, Date.now())}\n`);
      digest = record.digest;
      const choice = (await ask(CHOICES)).trim().toLowerCase();
      if (await acted(choice, { approvalId, digest, ask, session, signal })) return;
    }
  } catch (error) {
    if (!prompting.aborted) throw error;
    if (!signal.aborted) await left({ session, signal });
  } finally {
    lines.close();
  }
}

interface Asking extends Here {
  approvalId: string;
  /** Of the question as it was shown. */
  digest: string;
  /** Rejects when the input ends, or the question needs no answer any more. */
  ask(text: string): Promise<string>;
}

/** True once the question needs no more of this person. */
async function acted(choice: string, asking: Asking): Promise<boolean> {
  const { approvalId, digest, session } = asking;
  const by = session.caller({}).user ?? "operator";
  if (choice === "y" || choice === "yes") {
    return await say(session, (desk) => desk.approvals.approve(approvalId, { by, digest }));
  }
  if (choice === "a") {
    const always = { arguments: "exact", agent: "this", tier: session.config.approvals.grantTier } as const;
    return await say(session, (desk) => desk.approvals.approve(approvalId, { by, digest, always }));
  }
  if (choice === "n" || choice === "no") {
    const reason = (await asking.ask("Why not? The caller is told: ")) || "no reason given";
    return await say(session, (desk) => desk.approvals.deny(approvalId, { by, reason }));
  }
  if (choice === "e") return await changed(asking, by);
  if (choice !== "l") return false;
  await left(asking);
  return true;
}

async function left({ session, signal }: Here): Promise<void> {
  session.output.note("Left pending. Waiting for somebody else to answer; Ctrl-C leaves.");
  await new Promise<void>((resolve) => {
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

async function changed(asking: Asking, by: string): Promise<boolean> {
  const text = await asking.ask("The new arguments, as JSON: ");
  let input: JsonValue;
  try {
    input = JSON.parse(text);
  } catch (error) {
    asking.session.output.note(`That is not JSON: ${error instanceof Error ? error.message : String(error)}`);
    return false;
  }
  const { approvalId, digest, session } = asking;
  return await say(session, (desk) => desk.approvals.edit(approvalId, { by, input, digest }));
}

async function say(
  session: Session,
  answer: (desk: EngineAccess) => ReturnType<EngineAccess["approvals"]["approve"]>,
): Promise<boolean> {
  const said = await session.withEngine(async (desk) => {
    const record = await answer(desk);
    const grant = isFailure(record) ? undefined : await madeGrant(desk, record.approvalId);
    if (grant) tellGrant(grant, session.output);
    return record;
  });
  if (!isFailure(said)) return said.standing.state !== "pending";
  session.output.note(failureText(said, session.output));
  return false;
}
