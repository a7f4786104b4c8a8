import type { CallAnswer } from "@sallyport/protocol";
import { Command } from "commander";
import { EXIT, exitCodeOfAnswer } from "../exit-codes.ts";
import { hint } from "../invoked-as.ts";
import type { Io } from "../io.ts";
import { answerDocument, failureText, receiptPlace } from "../render-answer.ts";
import { type CommonOptions, Session, withCommonOptions } from "../session.ts";

const STAGES: Record<string, string> = {
  DECLARED: "the tool and its version are known, nothing is checked yet",
  VALIDATED: "the input matches the tool's schema",
  AUTHORIZED: "a grant allows it; without one nothing runs",
  EXECUTING: "it runs in a worker thread, inside a transaction",
  COMPLETED: "result checked; outcome, event and state are durable together",
  FAILED: "the input is wrong: the tool was never asked",
  DENIED: "nobody allows it: the tool was never asked",
  ABORTED: "it was stopped from outside",
  ROLLED_BACK: "what it changed through Sallyport is undone, and that is proved",
};

const NEXT = `
Where to go next
  Your own call:
    sallyport call calculator --operation add '{"a":2,"b":3}'
  One with state (kill it at any moment, nothing is lost):
    sallyport call counter --operation increment '{"name":"n"}'
  The journal, the check of the record, and everything else:
    sallyport calls list
    sallyport audit verify
    sallyport --help
  How it works: README.md, docs/lifecycle.md`;

/** `sallyport demo`: one good call and two that do not get through, each state as it is passed. */
export function demoCommand(io: Io, finish: (code: number) => void): Command {
  const command = new Command("demo").description(
    "watch a guarded call pass every state, and two that do not get through",
  );
  return withCommonOptions(command).action(async (options: CommonOptions) =>
    finish(await demo(new Session(options, io))),
  );
}

async function demo(session: Session): Promise<number> {
  const { output } = session;
  return await session.withEngine(async (engine) => {
    const caller = session.caller({});
    const calls = [
      { title: "A call that gets through", operation: "add", input: { a: 2, b: 3 } },
      { title: "One with a wrong input", operation: "add", input: { a: 2, b: "three" } },
      { title: "One that fails while it runs", operation: "divide", input: { a: 1, b: 0 } },
    ];
    const answers: CallAnswer[] = [];
    for (const { title, operation, input } of calls) {
      const answer = await engine.call({ tool: "calculator", operation, input, caller });
      answers.push(answer);
      if (!output.json) output.note(`\n${story(title, { operation, input }, answer, session)}`);
    }
    output.result(answers.map(answerDocument), () => hint(NEXT));
    const [first] = answers;
    return first ? exitCodeOfAnswer(first) : EXIT.internal;
  });
}

function story(
  title: string,
  call: { operation: string; input: object },
  answer: CallAnswer,
  { output }: Session,
): string {
  const lines = [
    output.style("bold", `${title}: calculator ${call.operation} ${JSON.stringify(call.input)}`),
  ];
  const [begin] = answer.lifecycle;
  for (const { state, at } of answer.lifecycle) {
    const since = `+${at - (begin?.at ?? at)} ms`.padStart(8);
    lines.push(`  ${output.style("dim", since)}  ${state.padEnd(11)}  ${STAGES[state] ?? ""}`);
  }
  lines.push(
    answer.status === "success"
      ? `  result      ${JSON.stringify(answer.result)}`
      : indent(failureText(answer.error, output)),
  );
  const { receipt } = answer;
  if (receipt) lines.push(`  receipt     ${receiptPlace(receipt)} ${receipt.hash}`);
  return lines.join("\n");
}

function indent(text: string): string {
  return text.replaceAll(/^/gm, "  ");
}
