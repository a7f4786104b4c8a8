import { accessSync, constants, createReadStream } from "node:fs";
import { resolve } from "node:path";
import { createInterface } from "node:readline";
import {
  type AuditLink,
  auditEntries,
  ChainCheck,
  type ChainReport,
  exportEntry,
  importLine,
  type Store,
  verifyChain,
} from "@sallyport/engine";
import { failure, isJsonObject, SallyportError } from "@sallyport/protocol";
import { Command } from "commander";
import { EXIT } from "../exit-codes.ts";
import { type Io, visible } from "../io.ts";
import { readInput } from "../read-input.ts";
import { type CommonOptions, Session, withCommonOptions } from "../session.ts";

/** `sallyport audit`: is the record whole, and a copy of it to take away. */
export function auditCommand(io: Io, finish: (code: number) => void): Command {
  const command = new Command("audit").description("verify or export the tamper-evident record");
  command.addCommand(verifyCommand(io, finish));
  command.addCommand(exportCommand(io));
  return command;
}

interface VerifyOptions extends CommonOptions {
  tenant?: string;
  file?: string;
  receipt?: string;
}

const VERIFY_HELP = `
Each tenant's events form a chain of hashes: changing, removing, inserting or moving one breaks it, and the place is
named. A receipt you kept also shows whether the end was cut off or the whole chain was written anew.
  $ sallyport audit verify
  $ sallyport audit export > events.jsonl && sallyport audit verify --file events.jsonl
  $ sallyport audit verify --receipt '{"tenant":"local","sequence":5,"hash":"…"}'
Exit code 0: intact. 1: not.`;

function verifyCommand(io: Io, finish: (code: number) => void): Command {
  const command = new Command("verify")
    .description("check every event against the chain")
    .option("--tenant <id>", "only this tenant's chain")
    .option("--file <jsonl>", "check an export instead of the store")
    .option("--receipt <json>", "a receipt that must be found in the chain (JSON, @file or -)")
    .addHelpText("after", VERIFY_HELP);
  return withCommonOptions(command).action(async (options: VerifyOptions) => {
    const session = new Session(options, io);
    const receipt = options.receipt === undefined ? undefined : await readReceipt(options.receipt, io);
    const { file } = options;
    const reports =
      file === undefined
        ? await session.reading((store) => verifyStore(store, { tenant: options.tenant, receipt }))
        : await verifyFile(readable(resolve(io.cwd, file)), receipt);
    finish(report(reports, session));
  });
}

interface Kept extends AuditLink {
  tenant: string;
}

async function readReceipt(argument: string, io: Io): Promise<Kept> {
  const value = await readInput(argument, io);
  const receipt = isJsonObject(value) && isJsonObject(value.receipt) ? value.receipt : value;
  if (isJsonObject(receipt)) {
    const { tenant, sequence, hash } = receipt;
    if (typeof tenant === "string" && typeof sequence === "number" && typeof hash === "string") {
      return { tenant, sequence, hash };
    }
  }
  throw new SallyportError(failure("E3921", { message: "A receipt has a tenant, a sequence and a hash." }));
}

async function verifyStore(
  store: Store,
  wanted: { tenant: string | undefined; receipt: Kept | undefined },
): Promise<ChainReport[]> {
  const all = await store.audit.tenants();
  if (wanted.tenant !== undefined && !all.includes(wanted.tenant)) throw noSuchTenant(wanted.tenant, all);
  const tenants = wanted.tenant === undefined ? all : [wanted.tenant];
  const missing = wanted.receipt && !tenants.includes(wanted.receipt.tenant) ? [wanted.receipt.tenant] : [];
  const reports: ChainReport[] = [];
  for (const tenant of [...tenants, ...missing]) {
    reports.push(await verifyChain(store.audit, tenant, receiptOf(tenant, wanted.receipt)));
  }
  return reports;
}

function receiptOf(tenant: string, receipt: Kept | undefined): AuditLink | undefined {
  return receipt?.tenant === tenant ? receipt : undefined;
}

function readable(file: string): string {
  try {
    accessSync(file, constants.R_OK);
    return file;
  } catch (error) {
    throw new SallyportError(failure("E3921", { message: `${file} cannot be read: ${String(error)}` }));
  }
}

function noSuchTenant(tenant: string, all: string[]): SallyportError {
  const advice = all.length === 0 ? "There are no events yet." : `There are events of: ${all.join(", ")}.`;
  return new SallyportError(
    failure("E3921", { message: `There are no events of tenant "${tenant}".`, advice }),
  );
}

async function verifyFile(file: string, receipt: Kept | undefined): Promise<ChainReport[]> {
  const chains = new Map<string, ChainCheck>();
  const chainOf = (tenant: string): ChainCheck => {
    const chain = chains.get(tenant) ?? new ChainCheck(tenant, { receipt: receiptOf(tenant, receipt) });
    chains.set(tenant, chain);
    return chain;
  };
  let lineNumber = 0;
  for await (const line of createInterface({ input: createReadStream(file), crlfDelay: Infinity })) {
    lineNumber += 1;
    if (line.trim() === "") continue;
    const { tenant, entry } = importLine(line, lineNumber);
    chainOf(tenant).add(entry);
  }
  if (receipt) chainOf(receipt.tenant);
  return [...chains.values()].map((chain) => chain.finish());
}

function report(reports: ChainReport[], { output }: Session): number {
  const intact = reports.every(({ findings }) => findings.length === 0);
  output.result({ intact, chains: reports }, () => {
    if (reports.length === 0) return "No events yet.";
    return reports.map((chain) => chainText(chain, output.style.bind(output))).join("\n");
  });
  return intact ? EXIT.success : EXIT.toolFailed;
}

function chainText(
  { tenant, events, head, findings }: ChainReport,
  style: Session["output"]["style"],
): string {
  const name = visible(tenant).replaceAll(/\s/g, " ");
  if (findings.length === 0) {
    return `${style("green", "✓")} ${name}: ${events} events, intact, head #${head.sequence} ${head.hash.slice(0, 16)}…`;
  }
  const lines = findings.map(({ sequence, problem, message }) => `    #${sequence} ${problem}: ${message}`);
  return [`${style("red", "✗")} ${name}: ${events} events, NOT intact`, ...lines].join("\n");
}

function exportCommand(io: Io): Command {
  const command = new Command("export")
    .description("write every event as a CloudEvent, one JSON line each, that verifies offline")
    .option("--tenant <id>", "only this tenant's events");
  return withCommonOptions(command).action(async (options: CommonOptions & { tenant?: string }) => {
    const session = new Session(options, io);
    await session.reading(async (store) => {
      const tenants = options.tenant === undefined ? await store.audit.tenants() : [options.tenant];
      for (const tenant of tenants) await exportChain(store, tenant, session);
    });
  });
}

async function exportChain(store: Store, tenant: string, { output }: Session): Promise<void> {
  for await (const entry of auditEntries(store.audit, tenant))
    output.data(`${JSON.stringify(exportEntry(entry))}\n`);
}
