import { DEFAULT_LOOP_LIMITS, FALLBACK_CAPACITY_BYTES } from "./loop-settings.ts";

/** How much one call may give back to the model (FR-REG-04). Made fresh for each call. */
export interface CallRoom {
  readonly maxOutputBytes: number;
  readonly availableBytes: number;
  /** A tool that keeps to the room itself sets this to false: its output is then not cut by anybody else. */
  allowTruncation: boolean;
}

/** Where a tool finds the room of the call it runs for. */
export interface RoomOf {
  of(callId: string): CallRoom;
}

/** The rooms of the calls that are under way. A call that nobody gave a room gets the conservative one. */
export class CallRooms implements RoomOf {
  readonly #rooms = new Map<string, CallRoom>();

  give(callId: string, room: { maxOutputBytes: number; availableBytes: number }): CallRoom {
    const fresh = { ...room, allowTruncation: true };
    this.#rooms.set(callId, fresh);
    return fresh;
  }

  of(callId: string): CallRoom {
    return this.#rooms.get(callId) ?? conservativeRoom();
  }

  drop(callId: string): void {
    this.#rooms.delete(callId);
  }
}

function conservativeRoom(): CallRoom {
  const { maxOutputBytes } = DEFAULT_LOOP_LIMITS;
  return { maxOutputBytes, availableBytes: FALLBACK_CAPACITY_BYTES, allowTruncation: true };
}
