import { spawn } from "node:child_process";

/** A server that runs in a child process and has said where it is. */
export interface ChildServer<Report> {
  pid: number;
  report: Report;
  /** Resolves once the process is gone. */
  close(): Promise<void>;
}

export interface ChildOptions {
  cwd?: string;
  /** For Node, before the script. */
  execArgv?: readonly string[];
}

/** Starts a script and waits for the JSON document it prints once it is open. Rejects with its stderr when it ends. */
export async function startServer<Report>(
  args: readonly string[],
  { cwd, execArgv = [] }: ChildOptions = {},
): Promise<ChildServer<Report>> {
  const child = spawn(process.execPath, [...execArgv, ...args], { cwd, stdio: ["ignore", "pipe", "pipe"] });
  let errors = "";
  child.stderr.on("data", (chunk: Buffer) => {
    errors = (errors + chunk.toString()).slice(-4_096);
  });
  const ended = new Promise<void>((resolve) => child.once("close", () => resolve()));
  const report = await new Promise<Report>((resolve, reject) => {
    let text = "";
    child.stdout.on("data", (chunk: Buffer) => {
      text += chunk.toString();
      if (text.endsWith("}\n")) resolve(JSON.parse(text));
    });
    child.once("error", reject);
    void ended.then(() => reject(new Error(`${args.join(" ")} ended: ${errors}`)));
  });
  const close = () => {
    child.kill("SIGTERM");
    return ended;
  };
  return { pid: child.pid ?? 0, report, close };
}
