/**
 * Passes frames on for as long as whoever reads them may. It is asked before each one, so that nothing more is sent once a
 * token is revoked or a session over; a heartbeat is a frame too, so that a quiet stream ends soon as well.
 */
export async function* whileItHolds(
  frames: AsyncGenerator<string, void>,
  holds: () => boolean,
): AsyncGenerator<string, void> {
  for await (const frame of frames) {
    if (!holds()) return;
    yield frame;
  }
}
