import { connect, type Socket } from "node:net";
import { failure, type JsonObject, SallyportError } from "@sallyport/protocol";
import { VERSION } from "../version.ts";
import { DeskLine } from "./desk-line.ts";
import { deskPlace } from "./desk-place.ts";
import { DESK_VERSION, type DeskMethod } from "./desk-words.ts";
import type { EngineAccess } from "./engine-access.ts";

/** A server that is open in another process. */
export interface ReachedDesk extends EngineAccess {
  close(): void;
}

/**
 * The desk of the process that holds this state folder; undefined when none does, or it has no desk. Rejects with E3945
 * when there is one that cannot be talked to.
 */
export async function reachDesk(stateFolder: string): Promise<ReachedDesk | undefined> {
  const place = deskPlace(stateFolder);
  const socket = place && (await connected(place.path).finally(place.leave));
  if (!socket) return undefined;
  const line = new DeskLine(socket);
  try {
    checkVersion(await line.greeting);
  } catch (error) {
    line.close();
    throw error;
  }
  return deskOver(line);
}

/** Undefined when nobody listens there. */
function connected(path: string): Promise<Socket | undefined> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.once("connect", () => resolve(socket));
    socket.once("error", () => resolve(undefined));
  });
}

function checkVersion({ desk, sallyport }: JsonObject): void {
  if (desk === DESK_VERSION) return;
  throw new SallyportError(
    failure("E3945", {
      message: `The state folder is held by Sallyport ${String(sallyport)}; this is ${VERSION}.`,
      advice: "Use the same version here, or stop the other.",
    }),
  );
}

function deskOver(line: DeskLine): ReachedDesk {
  const ask =
    (method: DeskMethod) =>
    (...given: readonly unknown[]) =>
      line.ask(method, given);
  return {
    call: ({ signal, ...request }) => line.ask("call", [request], signal),
    resume: (callId, { signal, ...goingOn } = {}) => line.ask("resume", [callId, goingOn], signal),
    running: ask("running"),
    goesOnByItself: ask("goesOnByItself"),
    undo: ask("undo"),
    closeByPerson: ask("closeByPerson"),
    revokeToken: ask("revokeToken"),
    approvals: {
      get: ask("approvals.get"),
      approve: ask("approvals.approve"),
      deny: ask("approvals.deny"),
      edit: ask("approvals.edit"),
    },
    grants: {
      get: ask("grants.get"),
      list: ask("grants.list"),
      issue: ask("grants.issue"),
      delegate: ask("grants.delegate"),
      revoke: ask("grants.revoke"),
    },
    events: { drop: ask("events.drop") },
    tools: {
      list: ask("tools.list"),
      deprecate: ask("tools.deprecate"),
      remove: ask("tools.remove"),
      quarantine: ask("tools.quarantine"),
      release: ask("tools.release"),
    },
    close: () => line.close(),
  };
}
