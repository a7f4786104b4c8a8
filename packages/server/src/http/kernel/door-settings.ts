/** How the door stands: the key `http` of the configuration, with paths made absolute. */
export interface DoorSettings {
  host: string;
  /** 0: any free one. */
  port: number;
  /** PEM files. Left out: plain HTTP. */
  tls?: { cert: string; key: string } | undefined;
  /** open: whoever reaches the door may call. token: each call and read needs a capability token. */
  callers: "open" | "token";
  /** Names a request may be for, besides loopback ones, the bound host and that of `publicUrl`. */
  allowedHosts: readonly string[];
  /** Origins whose pages may call; nobody else's may. */
  allowedOrigins: readonly string[];
  /** What people reach the door by, where something stands in front of it. */
  publicUrl?: string | undefined;
  metrics?: "open" | "operator" | undefined;
  bodyBytes: number;
  headerBytes: number;
  /** How long a request may take to arrive. */
  requestSeconds: number;
  /** How long a connection may stay without a request, or without taking any of its answer. */
  idleSeconds: number;
  connections: number;
  shutdownSeconds: number;
}

/** In force for whatever the configuration leaves open. */
export const DEFAULT_DOOR: DoorSettings = {
  host: "127.0.0.1",
  port: 7420,
  callers: "open",
  allowedHosts: [],
  allowedOrigins: [],
  bodyBytes: 1024 * 1024,
  headerBytes: 16 * 1024,
  requestSeconds: 30,
  idleSeconds: 65,
  connections: 1024,
  shutdownSeconds: 30,
};

/** Bounds nobody has to set. */
export const FIXED_BOUNDS = {
  urlChars: 8 * 1024,
  headers: 100,
  json: { maxDepth: 64, maxValues: 100_000 },
  /** Requests that wait for their answer on one connection. */
  pipelined: 8,
  requestsPerConnection: 10_000,
  /** How long, and how much, is still read from a sender that was refused, so that it gets to read why. */
  lingerMs: 1_000,
  lingerBytes: 16 * 1024 * 1024,
} as const;
