import { DatabaseSync } from "node:sqlite";
import { parentPort, workerData } from "node:worker_threads";

/* The least a durable call can cost: rows in, one synced transaction, word back. No chain, no journal, no checks. */

const database = new DatabaseSync(workerData as string);
database.exec("PRAGMA page_size = 16384; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL");
database.exec("CREATE TABLE floor (id INTEGER PRIMARY KEY, body TEXT)");
const insert = database.prepare("INSERT INTO floor (body) VALUES (?)");

parentPort?.on("message", (bodies: string[] | "close") => {
  if (bodies === "close") {
    database.close();
    parentPort?.close();
    return;
  }
  database.exec("BEGIN IMMEDIATE");
  for (const body of bodies) insert.run(body);
  database.exec("COMMIT");
  parentPort?.postMessage(bodies.length);
});
