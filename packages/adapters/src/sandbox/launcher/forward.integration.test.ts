import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { chmodSync } from "node:fs";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { describe, expect, it } from "vitest";
import { run, type Setting, settings, temporaryFolder } from "./fixtures/settings.ts";

async function listen(server: Server, path: string): Promise<AsyncDisposable> {
  server.listen(path);
  await once(server, "listening");
  chmodSync(path, 0o777);
  return { [Symbol.asyncDispose]: () => new Promise((resolve) => server.close(() => resolve())) };
}

/** Without a network namespace of its own the sandbox shares the host's ports. */
async function freePort({ wrapped }: Setting): Promise<number> {
  if (wrapped) return 3128;
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

/** Sends as many bytes as told, ends its half, then prints how many come back. */
const CLIENT = `
  use Socket; use IO::Socket::INET;
  my ($port, $bytes) = @ARGV;
  my $socket = IO::Socket::INET->new(PeerAddr => "127.0.0.1", PeerPort => $port) or die "connect: $!";
  $SIG{PIPE} = "IGNORE";
  print $socket "a" x $bytes; $socket->flush; shutdown($socket, 1);
  my ($count, $got) = (0);
  $count += $got while $got = sysread($socket, my $part, 65536);
  print "$count\\n";
`;

/** Opens many connections, and only then uses them one after the other. */
const MANY = `
  use IO::Socket::INET;
  my @sockets = map { IO::Socket::INET->new(PeerAddr => "127.0.0.1", PeerPort => $ARGV[0]) or die "connect: $!" } 1 .. 100;
  my $good = 0;
  for my $socket (@sockets) {
    print $socket "x"; $socket->flush; shutdown($socket, 1);
    my $text = join "", <$socket>;
    $good++ if $text eq "xy";
  }
  print "$good\\n";
`;

describe.each(settings())("forwarder: $name", (setting) => {
  async function exchange(
    serve: (socket: Socket) => void,
    command: (port: string) => string[],
    rlimits: { nofile?: number } = {},
  ) {
    using folder = temporaryFolder();
    const path = join(folder.path, "egress.sock");
    await using _ = await listen(createServer({ allowHalfOpen: true }, serve), path);
    const port = await freePort(setting);
    return await run(setting, {
      command: command(`${port}`),
      init: { forwards: [{ port, socket: path }], rlimits },
      folder: folder.path,
    });
  }

  it("carries 5 MB each way, with a half-closed connection in between [L3-EXE-2]", async () => {
    const back = randomBytes(5_000_000);
    let got = 0;
    const serve = async (socket: Socket) => {
      got = (await buffer(socket)).length;
      socket.end(back);
    };
    const { stdout, end } = await exchange(serve, (port) => ["perl", "-e", CLIENT, port, "5000000"]);
    expect(end).toMatchObject({ how: "exited", code: 0 });
    expect({ got, stdout }).toEqual({ got: 5_000_000, stdout: "5000000\n" });
  });

  it("is listening before the command starts, and outlives its limits", async () => {
    const serve = (socket: Socket) => void socket.end("hello\n");
    const read = (port: string) => ["bash", "-c", `exec 5<>/dev/tcp/127.0.0.1/${port}; head -n 1 <&5`];
    const { stdout } = await exchange(serve, read, { nofile: 12 });
    expect(stdout).toBe("hello\n");
  });

  it("carries many connections at once", async () => {
    const serve = (socket: Socket) => {
      socket.on("error", () => socket.destroy());
      socket.on("data", (chunk) => socket.write(chunk));
      socket.on("end", () => socket.end("y"));
    };
    const { stdout } = await exchange(serve, (port) => ["perl", "-e", MANY, port]);
    expect(stdout).toBe("100\n");
  });

  it("closes a connection that nobody takes", async () => {
    using folder = temporaryFolder();
    const port = await freePort(setting);
    const { stdout, end } = await run(setting, {
      command: ["perl", "-e", CLIENT, `${port}`, "1"],
      init: { forwards: [{ port, socket: join(folder.path, "absent.sock") }] },
      folder: folder.path,
    });
    expect(end).toMatchObject({ how: "exited", code: 0 });
    expect(stdout).toBe("0\n");
  });
});
