import { failure, SallyportError } from "@sallyport/protocol";
import type pg from "pg";

export type Client = pg.Client;
export type ClientBase = pg.ClientBase;
export type Pool = pg.Pool;
export type PoolClient = pg.PoolClient;

/** The driver is an optional dependency: it is loaded where PostgreSQL is configured. Rejects with E3914 when it is missing. */
export async function loadDriver(): Promise<typeof pg> {
  try {
    return (await import("pg")).default;
  } catch (cause) {
    const message = "PostgreSQL is configured, and the package pg is not installed.";
    throw new SallyportError(
      failure("E3914", { message, advice: "Run this where Sallyport is installed: npm install pg" }),
      {
        cause,
      },
    );
  }
}

/** What to tell of an error of the driver: its code and words, never the connection string. */
export function reasonOf(error: unknown): string {
  const { code, message } = error as { code?: unknown; message?: unknown };
  return [code, message].filter((part) => typeof part === "string" && part !== "").join(": ") || "unknown";
}
