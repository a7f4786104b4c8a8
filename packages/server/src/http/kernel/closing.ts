import { timerMs } from "@sallyport/engine/host";
import type { BuiltDoor } from "./build-door.ts";
import type { DoorSettings } from "./door-settings.ts";

/** For last bytes that are on their way. */
const RELEASE_MS = 1_000;

export interface Closing {
  /** No new connections, and none is kept: what is under way may finish, anything further is refused with E3942. */
  stopAccepting(): void;
  /** Stops accepting, lets what is under way finish within the time, cuts the rest off. Resolves with nothing left open. */
  close(options?: { withinMs?: number }): Promise<void>;
}

/** How a door that was built is closed again. */
export function closing({ app, server, connections, state }: BuiltDoor, settings: DoorSettings): Closing {
  const closed = new Promise<void>((resolve) => server.once("close", resolve));
  let ending: Promise<void> | undefined;

  function stopAccepting(): void {
    if (state.isClosing) return;
    state.isClosing = true;
    server.close();
    connections.closeIdle();
  }

  async function end(withinMs: number): Promise<void> {
    stopAccepting();
    connections.endStreams("The server is shutting down.");
    if (await within(withinMs, connections.quiet())) {
      connections.release();
      await within(RELEASE_MS, closed);
    }
    connections.destroyAll();
    await Promise.all([closed, connections.quiet()]);
    await app.close();
  }

  return {
    stopAccepting,
    close({ withinMs = settings.shutdownSeconds * 1_000 } = {}) {
      ending ??= end(withinMs);
      return ending;
    },
  };
}

/** Whether it came about in time. */
async function within(ms: number, wanted: Promise<void>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), timerMs(ms));
  });
  const inTime = await Promise.race([wanted.then(() => true), late]);
  clearTimeout(timer);
  return inTime;
}
