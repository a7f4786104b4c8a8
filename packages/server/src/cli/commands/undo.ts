import { Command } from "commander";
import { must } from "../../must.ts";
import { effectsText } from "../effects-text.ts";
import { EXIT } from "../exit-codes.ts";
import type { Io } from "../io.ts";
import { type CommonOptions, Session, withCommonOptions } from "../session.ts";

const HELP = `
Restores every file the call changed, added, renamed or deleted, and proves it by hash. Files that somebody changed
since are never overwritten: then nothing is undone, and the paths are named.

  $ sallyport calls list --status success
  $ sallyport undo CALL --diff`;

/** `sallyport undo`: takes back what a committed call did to files. */
export function undoCommand(io: Io, finish: (code: number) => void): Command {
  const command = new Command("undo")
    .description("undo what a committed call did to files")
    .argument("<call>", "id of the call")
    .option("--diff", "show the differences")
    .addHelpText("after", HELP);
  return withCommonOptions(command).action(
    async (callId: string, options: CommonOptions & { diff?: boolean }) => {
      const session = new Session(options, io);
      const by = session.caller({}).user ?? "operator";
      const undone = must(await session.withEngine((desk) => desk.undo(callId, { by })));
      const { effects, verified } = undone;
      const proof = verified ? "verified by hash" : "NOT verified: look at the files";
      session.output.result(undone, () => {
        const changes = effectsText(effects, session.output, { diff: options.diff === true });
        return `Undone (${proof}). ${changes}`;
      });
      finish(verified ? EXIT.success : EXIT.internal);
    },
  );
}
