import { failure } from "@sallyport/protocol";
import { describe, expect, it } from "vitest";
import { COMMAND, PATCH } from "./fixtures/questions.ts";
import { type Asking, ScreenPerson } from "./screen-person.ts";

function asked(person: ScreenPerson) {
  const askings: Asking[] = [];
  let withdrawn = 0;
  const detach = person.attach({
    ask: (asking) => askings.push(asking),
    withdrawn: () => {
      withdrawn += 1;
    },
  });
  return { askings, detach, withdrawn: () => withdrawn };
}

const never = new AbortController().signal;

describe("the person at the screen", () => {
  it("denies everything while no screen is there [FR-TUI-01]", async () => {
    const person = new ScreenPerson();
    expect(await person.decide([PATCH], never)).toEqual({ kind: "deny_all" });
    asked(person).detach();
    expect(await person.decide([PATCH], never)).toEqual({ kind: "deny_all" });
  });

  it("answers with what the screen says; the first answer counts [FR-TUI-01]", async () => {
    const person = new ScreenPerson();
    const { askings } = asked(person);
    const decision = person.decide([PATCH, COMMAND], never);
    askings[0]?.answer({ kind: "approve_all" });
    askings[0]?.answer({ kind: "deny_all" });
    expect(await decision).toEqual({ kind: "approve_all" });
  });

  it("denies when the conversation is cancelled, and takes the prompt away [FR-TUI-01]", async () => {
    const person = new ScreenPerson();
    const { askings, withdrawn } = asked(person);
    const cancel = new AbortController();
    const decision = person.decide([PATCH], cancel.signal);
    cancel.abort();
    expect(await decision).toEqual({ kind: "deny_all" });
    expect(withdrawn()).toBe(1);
    expect(askings).toHaveLength(1);
  });

  it("brings a refused edit back with its question, once [FR-TUI-01]", async () => {
    const person = new ScreenPerson();
    const { askings } = asked(person);
    const first = person.decide([PATCH], never);
    askings[0]?.answer({ kind: "each", words: new Map([[0, { kind: "edit", input: { a: 1 } }]]) });
    await first;
    person.refused(PATCH, failure("E3951"));
    void person.decide([PATCH], never);
    expect(askings[1]?.refusals.get(0)).toMatchObject({ error: { code: "E3951" }, input: { a: 1 } });
    void person.decide([PATCH], never);
    expect(askings[2]?.refusals.size).toBe(0);
  });
});
