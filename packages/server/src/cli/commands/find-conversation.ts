import { type Failure, failure, nearestName } from "@sallyport/protocol";

/** Shorter ones are too likely a slip: an empty variable of a script would name whatever there is. */
const LEAST_CHARS = 4;
const NAMED = 3;
const LIST = "See those there are with `sallyport conversations list --all`.";

interface Named {
  conversationId: string;
}

/** The conversation of this id, of this unique beginning of one, or the `last` used; `all` has the last used first. */
export function findConversation<Kept extends Named>(wanted: string, all: readonly Kept[]): Kept | Failure {
  const found = wanted === "last" ? all[0] : all.find(({ conversationId }) => conversationId === wanted);
  if (found) return found;
  if (wanted === "last") return failure("E3917", { message: "There is no conversation yet.", advice: LIST });
  const begun = all.filter(({ conversationId }) => conversationId.startsWith(wanted));
  const [only] = begun;
  if (!only) return unknown(wanted, all);
  if (wanted.length < LEAST_CHARS) {
    const message = `${JSON.stringify(wanted)} is too short for a conversation.`;
    return failure("E3921", { message, advice: `Give at least ${LEAST_CHARS} characters of its id.` });
  }
  return begun.length === 1 ? only : ambiguous(wanted, begun);
}

function unknown(wanted: string, all: readonly Named[]): Failure {
  const message = `There is no conversation ${wanted}.`;
  // Those of which a beginning was meant are as long as what was given.
  const beginnings = all.map(({ conversationId }) => conversationId.slice(0, Math.max(1, wanted.length)));
  const near = nearestName(wanted, beginnings);
  const meant = near === undefined ? undefined : all[beginnings.indexOf(near)];
  const advice = meant ? `Did you mean ${meant.conversationId}? ${LIST}` : LIST;
  return failure("E3917", { message, advice });
}

function ambiguous(wanted: string, begun: readonly Named[]): Failure {
  const named = begun.slice(0, NAMED).map(({ conversationId }) => conversationId);
  const more = begun.length > NAMED ? ` and ${begun.length - NAMED} more` : "";
  const message = `${begun.length} conversations begin with ${wanted}: ${named.join(", ")}${more}.`;
  return failure("E3921", { message, advice: "Give more of the id." });
}
