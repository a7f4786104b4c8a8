import { createReadStream } from "node:fs";
import { resolve } from "node:path";
import { PassThrough, pipeline } from "node:stream";
import { createGunzip } from "node:zlib";
import { type ChainReport, verifyChain } from "@sallyport/engine";
import { genesis } from "@sallyport/engine/chain";
import {
  type ArchivedLink,
  auditEntries,
  closingLine,
  type EventOutline,
  ExportCheck,
  type ExportedChain,
  type ExportReport,
  exportEntry,
  openingLine,
} from "@sallyport/engine/host";
import type { AuditLink, Store } from "@sallyport/engine/ports";
import { failure, isJsonObject, SallyportError } from "@sallyport/protocol";
import { Command } from "commander";
import { EXIT } from "../exit-codes.ts";
import { type Io, visible } from "../io.ts";
import { readInput, unreadable } from "../read-input.ts";
import { type CommonOptions, Session, withCommonOptions } from "../session.ts";
import { archiveCommand } from "./audit-archive.ts";

/** `sallyport audit`: is the record whole, a copy of it to take away, and its old months out of the database. */
export function auditCommand(io: Io, finish: (code: number) => void): Command {
  const command = new Command("audit").description("verify, export or archive the tamper-evident record");
  command.addCommand(verifyCommand(io, finish));
  command.addCommand(exportCommand(io));
  command.addCommand(archiveCommand(io, finish));
  return command;
}

interface VerifyOptions extends CommonOptions {
  tenant?: string;
  file?: string;
  receipt?: string;
}

const VERIFY_HELP = `
Each unit of work that a tenant's calls write is a link in a chain of hashes: changing, removing, inserting or moving one
breaks the chain, and the unit is named with its events. Where several processes write, each has a strand of its own. A receipt you kept also shows whether the end was cut off or the whole chain was written anew. An export is
compared line by line, every field, and must end with its closing line; one from before exports had that line is
checked as far as it goes and is not called intact.
  $ sallyport audit verify
  $ sallyport audit export > events.jsonl && sallyport audit verify --file events.jsonl
  $ sallyport audit verify --file 2026-08-….ndjson.gz     a month of the archive
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
    const wanted = { tenant: options.tenant, receipt };
    const found =
      file === undefined
        ? await session.reading((store) => verifyStore(store, wanted))
        : await verifyFile(resolve(io.cwd, file), wanted);
    finish(report(found, session));
  });
}

interface Kept extends AuditLink {
  tenant: string;
}

async function readReceipt(argument: string, io: Io): Promise<Kept> {
  const value = await readInput(argument, io);
  const receipt = isJsonObject(value) && isJsonObject(value.receipt) ? value.receipt : value;
  if (isJsonObject(receipt)) {
    const { tenant, strand = 0, sequence, hash } = receipt;
    if (
      typeof tenant === "string" &&
      typeof strand === "number" &&
      typeof sequence === "number" &&
      typeof hash === "string"
    ) {
      return { tenant, strand, sequence, hash };
    }
  }
  throw new SallyportError(failure("E3921", { message: "A receipt has a tenant, a sequence and a hash." }));
}

async function verifyStore(
  store: Store,
  wanted: { tenant: string | undefined; receipt: Kept | undefined },
): Promise<ExportReport> {
  const all = await store.audit.tenants();
  if (wanted.tenant !== undefined && !all.includes(wanted.tenant)) throw noSuchTenant(wanted.tenant, all);
  const tenants = wanted.tenant === undefined ? all : [wanted.tenant];
  const missing = wanted.receipt && !tenants.includes(wanted.receipt.tenant) ? [wanted.receipt.tenant] : [];
  const chains: ChainReport[] = [];
  for (const tenant of [...tenants, ...missing]) {
    chains.push(await verifyChain(store.audit, tenant, receiptOf(tenant, wanted.receipt)));
  }
  return { chains, problems: wanted.tenant === undefined ? ((await store.audit.strays?.()) ?? []) : [] };
}

function receiptOf(tenant: string, receipt: Kept | undefined): AuditLink | undefined {
  return receipt?.tenant === tenant ? receipt : undefined;
}

function noSuchTenant(tenant: string, all: string[]): SallyportError {
  const advice = all.length === 0 ? "There are no events yet." : `There are events of: ${all.join(", ")}.`;
  return new SallyportError(
    failure("E3921", { message: `There are no events of tenant "${tenant}".`, advice }),
  );
}

async function verifyFile(
  file: string,
  wanted: { tenant: string | undefined; receipt: Kept | undefined },
): Promise<ExportReport> {
  const check = new ExportCheck(wanted.receipt);
  try {
    for await (const line of linesOf(file)) check.add(line);
  } catch (error) {
    throw fileError(error, file);
  }
  const report = check.finish();
  const tenants = report.chains.map(({ tenant }) => tenant);
  if (wanted.tenant === undefined) return report;
  if (!tenants.includes(wanted.tenant)) throw noSuchTenant(wanted.tenant, tenants);
  return { ...report, chains: report.chains.filter(({ tenant }) => tenant === wanted.tenant) };
}

/** E3804 for a file that was cut off or damaged, E3921 for one that cannot be read. Other errors are as they were. */
function fileError(error: unknown, file: string): unknown {
  const { code, syscall } = error as { code?: unknown; syscall?: unknown };
  if (syscall !== undefined) return unreadable(file, error);
  if (!String(code).startsWith("Z_")) return error;
  return new SallyportError(
    failure("E3804", { message: `${file} cannot be unpacked to its end: it is damaged.` }),
  );
}

/**
 * The lines of a file, also of a compressed one. Not by `readline`, which also ends lines inside of texts: at U+2028,
 * U+2029 and carriage returns.
 */
async function* linesOf(file: string): AsyncGenerator<string> {
  let rest = "";
  const unpacked = file.endsWith(".gz") ? createGunzip() : new PassThrough();
  const text = pipeline(createReadStream(file), unpacked, () => undefined).setEncoding("utf8");
  for await (const chunk of text) {
    const lines = `${rest}${chunk}`.split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) yield line.replace(/\r$/, "");
  }
  yield rest;
}

function report({ chains, problems }: ExportReport, { output }: Session): number {
  const intact = problems.length === 0 && chains.every(({ findings }) => findings.length === 0);
  output.result({ intact, problems, chains }, () => {
    if (chains.length === 0 && intact) return "No events yet.";
    const wrong = problems.map((problem) => `${output.style("red", "✗")} ${problem}`);
    return [...chains.map((chain) => chainText(chain, output.style.bind(output))), ...wrong].join("\n");
  });
  return intact ? EXIT.success : EXIT.toolFailed;
}

function chainText(
  { tenant, events, strands, findings, archived = [] }: ChainReport,
  style: Session["output"]["style"],
): string {
  const name = visible(tenant).replaceAll(/\s/g, " ");
  if (findings.length === 0) {
    const heads = strands.map((head) => `${placeText(head)} ${head.hash.slice(0, 16)}…`).join(", ");
    const older = archived.map(placeText).join(", ");
    const from = older === "" ? "" : `; older ones, up to ${older}, are in the archive`;
    return `${style("green", "✓")} ${name}: ${events} events, intact, head ${heads}${from}`;
  }
  const lines = findings.flatMap((finding) => [
    `    ${placeText(finding)} ${finding.problem}: ${finding.message}`,
    ...finding.events.map((event) => `      ${eventText(finding.sequence, event)}`),
  ]);
  return [`${style("red", "✗")} ${name}: ${events} events, NOT intact`, ...lines].join("\n");
}

/** The strand is named where it is not the first. */
function placeText({ strand, sequence }: { strand: number; sequence: number }): string {
  return strand === 0 ? `#${sequence}` : `strand ${strand} #${sequence}`;
}

function eventText(sequence: number, { index, state, callId, timestamp }: EventOutline): string {
  const at = timestamp === undefined ? "" : ` at ${new Date(timestamp).toISOString()}`;
  return visible(`${sequence}.${index} ${state}${callId === undefined ? "" : ` of call ${callId}`}${at}`);
}

const EXPORT_HELP = `
Each line stands for itself; \`strand\`, \`sequence\` and \`index\` say which event of which unit of work it is. The last line
states how many events of each strand the export holds and the newest hash of each, so that a file that was cut off does
not verify.`;

function exportCommand(io: Io): Command {
  const command = new Command("export")
    .description("write every event as a CloudEvent, one JSON line each, that verifies offline")
    .option("--tenant <id>", "only this tenant's events")
    .addHelpText("after", EXPORT_HELP);
  return withCommonOptions(command).action(async (options: CommonOptions & { tenant?: string }) => {
    const session = new Session(options, io);
    await session.reading((store) => exportChains(store, options.tenant, session));
  });
}

/** As much as is written at once. */
const CHUNK_CHARS = 64 * 1024;

/** Ends early, without an error, when whoever reads the output has gone. */
async function exportChains(store: Store, wanted: string | undefined, { output }: Session): Promise<void> {
  const all = await store.audit.tenants();
  if (wanted !== undefined && !all.includes(wanted)) throw noSuchTenant(wanted, all);
  const chains: ExportedChain[] = [];
  const tenants = wanted === undefined ? all : [wanted];
  const archived: ArchivedLink[] = [];
  for (const tenant of tenants)
    for (const link of (await store.audit.archived?.(tenant)) ?? []) archived.push({ tenant, ...link });
  let text = archived.length > 0 ? `${openingLine(archived)}\n` : "";
  for (const tenant of tenants) {
    const heads = await store.audit.heads(tenant);
    const strands = new Map(
      heads.map(({ strand }): [number, ExportedChain] => {
        const before = archived.find((link) => link.tenant === tenant && link.strand === strand);
        return [strand, before ? { ...before, events: 0 } : nothingOf(tenant, strand)];
      }),
    );
    for await (const entry of auditEntries(store.audit, tenant)) {
      const { strand, sequence, hash } = entry;
      const events = exportEntry(entry);
      for (const event of events) text += `${JSON.stringify(event)}\n`;
      const before = strands.get(strand)?.events ?? 0;
      strands.set(strand, { tenant, strand, sequence, hash, events: before + events.length });
      if (text.length < CHUNK_CHARS) continue;
      if (!(await output.data(text))) return;
      text = "";
    }
    for (const chain of strands.values()) {
      // A strand whose end is gone from the store is exported as one that lacks its end.
      const head = heads.find(({ strand }) => strand === chain.strand);
      chains.push(head && chain.sequence < head.sequence ? { ...chain, ...head } : chain);
    }
  }
  await output.data(`${text}${closingLine(chains)}\n`);
}

function nothingOf(tenant: string, strand: number): ExportedChain {
  return { tenant, ...genesis(strand), events: 0 };
}
