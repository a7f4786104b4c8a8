/** Everything an attacker would like to know about the host. All of it is told, so that nothing hangs on a secret name. */
export interface Places {
  workspace: string;
  /** A folder beside the workspace that is not mounted, and a file in it. */
  out: string;
  secret: string;
  /** A folder that is mounted read-only. */
  readOnly: string;
  hiddenFile: string;
  programs: string;
  devices: string;
  hiddenSocket: string;
  /** A folder that is mounted read-only, in which the host listens and reads. */
  sockets: string;
  unix: string;
  abstract: string;
  tcp: string;
  udp: string;
  /** Of this host, and those of them that are not loopback. */
  addresses: string;
  otherAddresses: string;
  nameServers: string;
  hostName: string;
  /** A process of the sandbox's own user, the process that makes the sandbox, and that one's parent. */
  pid: string;
  node: string;
  parent: string;
  sharedMemory: string;
  sharedFile: string;
}

/** Puts places where `{name}` stands. */
export function fillIn(text: string, places: Places): string {
  return text.replace(/\{(\w+)\}/g, (whole, name: string) => (isPlace(name, places) ? places[name] : whole));
}

function isPlace(name: string, places: Places): name is keyof Places {
  return Object.hasOwn(places, name);
}

/** The same as variables, for the attack programs. */
export function asVariables(places: Places): Record<string, string> {
  return {
    X_WS: places.workspace,
    X_OUT: places.out,
    X_SECRET: places.secret,
    X_RO: places.readOnly,
    X_HIDDEN_FILE: places.hiddenFile,
    X_UNIX: places.unix,
    X_ABSTRACT: places.abstract,
    X_TCP: places.tcp,
    X_UDP: places.udp,
    X_ADDRESSES: places.addresses,
    X_OTHER_ADDRESSES: places.otherAddresses,
    X_NAME_SERVERS: places.nameServers,
    X_HOST_NAME: places.hostName,
    X_PID: places.pid,
    X_NODE: places.node,
    X_PARENT: places.parent,
    X_SHARED_MEMORY: places.sharedMemory,
    X_SHARED_FILE: places.sharedFile,
  };
}
