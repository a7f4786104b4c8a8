import { type Failure, failure, SallyportError } from "@sallyport/protocol";
import { Command, InvalidArgumentError } from "commander";
import {
  changeSharedKeys,
  currentKid,
  initKeys,
  type KeyChange,
  keyFolder,
  type ListedKey,
  readPublicKeys,
  replaceKeys,
  rotateKeys,
} from "../../keys/index.ts";
import { must } from "../../must.ts";
import { lengthText, relativeText } from "../duration-text.ts";
import { hint } from "../invoked-as.ts";
import { type Io, table, visible } from "../io.ts";
import { type CommonOptions, Session, withCommonOptions } from "../session.ts";

const MAX_KEEP = 100;

const HELP = `
The keys are in the folder "keys" of the state folder, for its owner alone. "jwks.json" there is public: give it to
whoever has to check this runtime's tokens.
  $ sallyport keys init
  $ sallyport keys list
  $ sallyport keys rotate              the key before goes on being accepted
  $ sallyport keys rotate --keep 0     after a leak: every earlier token is refused
  $ sallyport keys share               shared store: all processes get the keys of this folder`;

/** `sallyport keys`: what this server signs its tokens with. */
export function keysCommand(io: Io, _finish: (code: number) => void): Command {
  const command = new Command("keys")
    .description("create, rotate and list the keys that sign tokens")
    .addHelpText("after", HELP);
  command.addCommand(initCommand(io));
  command.addCommand(rotateCommand(io));
  command.addCommand(listCommand(io));
  command.addCommand(shareCommand(io));
  return command;
}

function initCommand(io: Io): Command {
  const command = new Command("init").description("create the first keys; overwrites nothing");
  return withCommonOptions(command).action(async (options: CommonOptions) => {
    const session = new Session(options, io);
    const folder = keyFolder(session.config.stateFolder);
    const made = must(await changing(session, () => initKeys(folder)));
    session.output.result({ folder, ...made }, () =>
      visible(
        [
          `Made key ${made.kid} in ${folder}.`,
          hint("It signs tokens from now on: sallyport token mint --help"),
          `Others check them with ${folder}/jwks.json, which is public; the rest is not.`,
        ].join("\n"),
      ),
    );
  });
}

function rotateCommand(io: Io): Command {
  const command = new Command("rotate")
    .description("create a new signing key and use it from now on")
    .option("--keep <n>", "how many earlier keys stay accepted (default: 2)", count);
  return withCommonOptions(command).action(async (options: CommonOptions & { keep?: number }) => {
    const session = new Session(options, io);
    const { keep } = options;
    const folder = keyFolder(session.config.stateFolder);
    const made = must(await changing(session, () => rotateKeys(folder, keep === undefined ? {} : { keep })));
    session.output.result({ folder, ...made }, () =>
      visible(rotatedText(made, session.config.tokens.maxLifeSeconds * 1_000)),
    );
  });
}

/** Changes the keys of this folder, or of all processes on a shared store. */
function changing(
  session: Session,
  change: () => Promise<KeyChange | Failure>,
): Promise<KeyChange | Failure> {
  return session.withKeySharing((sharing) => (sharing ? changeSharedKeys(sharing, change) : change()));
}

function shareCommand(io: Io): Command {
  const command = new Command("share").description(
    "give the keys of this folder to all processes on a shared store, in place of those they have",
  );
  return withCommonOptions(command).action(async (options: CommonOptions) => {
    const session = new Session(options, io);
    const folder = keyFolder(session.config.stateFolder);
    const isSealed = await session.withKeySharing(async (sharing) => {
      const trouble = sharing ? await replaceKeys(sharing) : notShared();
      if (trouble) throw new SallyportError(trouble);
      return sharing?.sealing !== undefined;
    });
    const text = isSealed
      ? `The keys in ${folder} are in the store, encrypted. Restart the other processes.`
      : `The fingerprints of the keys in ${folder} are in the store. Copy the folder to every process, and restart them.`;
    session.output.result({ folder, inStore: isSealed }, () => visible(text));
  });
}

function notShared(): Failure {
  return failure("E3227", {
    message: "The store is not shared: this server is the only one with its keys.",
    advice: "Set store.postgres first.",
  });
}

function count(text: string): number {
  const keep = Number(text);
  if (!Number.isInteger(keep) || keep < 0 || keep > MAX_KEEP)
    throw new InvalidArgumentError(`a whole number from 0 to ${MAX_KEEP}`);
  return keep;
}

function rotatedText({ kid, previous = "none", kept, dropped }: KeyChange, maxLifeMs: number): string {
  const lines = [`${kid} signs from now on; until now it was ${previous}.`];
  if (kept.length > 0) {
    lines.push(
      `Tokens signed by ${kept.join(", ")} stay good until they expire, which takes ${lengthText(maxLifeMs)} at most.`,
    );
  }
  if (dropped.length > 0) lines.push(`Tokens signed by ${dropped.join(", ")} are refused from now on.`);
  return lines.join("\n");
}

function listCommand(io: Io): Command {
  const command = new Command("list").description("list the keys that tokens are checked with");
  return withCommonOptions(command).action(async (options: CommonOptions) => {
    const session = new Session(options, io);
    await session.takeKeys();
    const folder = keyFolder(session.config.stateFolder);
    const current = currentKid(folder);
    if (typeof current !== "string") throw new SallyportError(current);
    const keys = must(readPublicKeys(folder));
    const rows = keys.map((key) => keyRow(key, current));
    session.output.result(rows, () => listText(rows, Date.now()));
  });
}

interface KeyRow {
  kid: string;
  createdAt: string;
  signs: boolean;
}

function keyRow({ kid, createdAt }: ListedKey, current: string): KeyRow {
  return { kid, createdAt: new Date(createdAt).toISOString(), signs: kid === current };
}

function listText(rows: readonly KeyRow[], now: number): string {
  const lines = rows.map(({ kid, createdAt, signs }) => [
    kid,
    createdAt,
    relativeText(Date.parse(createdAt), now),
    signs ? "signs" : "is accepted",
  ]);
  return table([["KEY", "MADE", "AGE", "USE"], ...lines], "No public keys are listed.");
}
