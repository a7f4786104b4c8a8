import type { Socket } from "node:net";
import { finish } from "./answer.ts";
import { type Denial, forbidden, isDenial, quoted, REPLY } from "./denial.ts";
import type { Lane } from "./lane.ts";
import type { Parts } from "./parts.ts";
import {
  NO_AUTHENTICATION,
  readGreeting,
  readRequest,
  SOCKS_VERSION,
  type SocksRead,
  type SocksRequest,
  socksReply,
} from "./socks-wire.ts";
import { goOn, openWay } from "./tunnel.ts";

const NO_METHOD = 0xff;

/** Reads the handshake of a SOCKS5 client and lets its one connection go through the gate. */
export async function openSocksDoor(parts: Parts, lane: Lane): Promise<void> {
  const greeting = await readMessage(lane.socket, readGreeting);
  if (!greeting) return;
  if (!greeting.message.isOpen) {
    finish(lane.socket, Buffer.of(SOCKS_VERSION, NO_METHOD));
    return;
  }
  lane.socket.write(Buffer.of(SOCKS_VERSION, NO_AUTHENTICATION));
  const request = await readMessage(lane.socket, readRequest);
  if (!request) return;
  lane.headCame();
  await serve(parts, lane, request.message);
}

async function serve(parts: Parts, lane: Lane, request: SocksRequest): Promise<void> {
  if (request.command !== "connect") {
    const isOther = request.command === "other";
    finish(lane.socket, socksReply(isOther ? REPLY.unknownCommand : REPLY.unknownAddress));
    return;
  }
  const { to, host } = request;
  const opening = to ? await openWay(parts, lane, to) : unreadable(host);
  if (isDenial(opening)) {
    parts.refusals.record(opening);
    finish(lane.socket, socksReply(opening.reply));
    return;
  }
  lane.socket.write(socksReply(REPLY.done));
  goOn(parts, lane, { opening, early: Buffer.alloc(0) });
}

function unreadable(host: string): Denial {
  return forbidden(undefined, `${quoted(host)} is not a host.`, "Ask for a host name or an address.");
}

/** One message; what came after it stays in the socket. Undefined when it never came, or is broken. */
function readMessage<Message>(
  socket: Socket,
  read: (bytes: Buffer) => SocksRead<Message>,
): Promise<{ message: Message } | undefined> {
  return new Promise((done) => {
    let bytes = Buffer.alloc(0);
    const end = (answer: { message: Message } | undefined) => {
      socket.off("data", take).off("close", giveUp).off("end", giveUp).pause();
      if (!answer) socket.destroy();
      done(answer);
    };
    const giveUp = () => end(undefined);
    const take = (more: Buffer) => {
      bytes = Buffer.concat([bytes, more]);
      const got = read(bytes);
      if (got.kind === "partial") return;
      if (got.kind === "broken") return giveUp();
      end({ message: got.message });
      if (bytes.length > got.size) socket.unshift(bytes.subarray(got.size));
    };
    socket.on("data", take).once("close", giveUp).once("end", giveUp);
    if (socket.destroyed) giveUp();
    else socket.resume();
  });
}
