import { entryOf } from "@sallyport/protocol";
import { Answering } from "./answering.ts";
import { Connections } from "./connections.ts";
import { Entrance } from "./entrance.ts";
import { KnownPaths } from "./known-paths.ts";
import type { DoorOptions } from "./open-door.ts";
import { RequestIds } from "./request-id.ts";
import { Running } from "./running.ts";
import type { TlsPair } from "./tls-files.ts";
import { Watching } from "./watching.ts";
import type { WireRefusal } from "./wire-errors.ts";

/** What a door is made of, below it nothing but the server. */
export interface DoorParts {
  state: { isClosing: boolean };
  ids: RequestIds;
  connections: Connections;
  entrance: Entrance;
  running: Running;
  /** Puts a refusal on record that no exchange stands for. */
  noteWire(refusal: WireRefusal): void;
}

/** Puts the parts together. */
export function doorParts(options: DoorOptions, tls: TlsPair | undefined): DoorParts {
  const { settings, log, routes, guard } = options;
  const state = { isClosing: false };
  const isClosing = () => state.isClosing;
  const watching = new Watching(options, log);
  const connections = new Connections((exchange) => {
    if (!exchange.response.writableFinished) exchange.abort("The client is gone.");
    watching.answer(exchange);
  });
  const stallMs = settings.idleSeconds * 1_000;
  const answering = new Answering({ tls: tls !== undefined, log, stallMs, isClosing });
  const paths = new KnownPaths(routes);
  const entrance = new Entrance({ settings, guard, paths, connections, answering, watching, isClosing });
  const running = new Running({ guard, answering, log, settings });
  const noteWire = ({ requestId, failure }: WireRefusal) =>
    watching.wire({ requestId, code: failure.code, status: entryOf(failure).http });
  return { state, ids: new RequestIds(), connections, entrance, running, noteWire };
}
