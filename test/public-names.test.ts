import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { describe, expect, it } from "vitest";

const ROOT = join(import.meta.dirname, "..");

interface Entry {
  /** As an import names it, such as `@sallyport/engine/ports`. */
  name: string;
  file: string;
}

/** Every entry in the package.json of every package. */
function packageEntries(): Entry[] {
  return readdirSync(join(ROOT, "packages")).flatMap((folder) => {
    const base = join(ROOT, "packages", folder);
    const { name, exports } = JSON.parse(readFileSync(join(base, "package.json"), "utf8"));
    return Object.entries<string>(exports).map(([path, file]) => ({
      name: `${name}${path.slice(1)}`,
      file: join(base, file),
    }));
  });
}

const OPTIONS: ts.CompilerOptions = {
  module: ts.ModuleKind.NodeNext,
  moduleResolution: ts.ModuleResolutionKind.NodeNext,
  allowImportingTsExtensions: true,
  noEmit: true,
  noLib: true,
  types: [],
};

/** Reads our own files only: names need neither the library nor the types of dependencies. */
function ownFiles(): ts.CompilerHost {
  const host = ts.createCompilerHost(OPTIONS);
  const getSourceFile: ts.CompilerHost["getSourceFile"] = (file, language) =>
    file.includes("/node_modules/")
      ? ts.createSourceFile(file, "", language)
      : host.getSourceFile(file, language);
  return { ...host, getSourceFile };
}

/** The names each entry exports, one a line; `type` stands before a name that has no value. */
function publicNames(entries: readonly Entry[]): string {
  const files = entries.map(({ file }) => file);
  const program = ts.createProgram(files, OPTIONS, ownFiles());
  const checker = program.getTypeChecker();
  const sections = entries.map(({ name, file }) => {
    const source = program.getSourceFile(file);
    const module = source && checker.getSymbolAtLocation(source);
    if (!module) throw new Error(`${name}: ${file} is not a module`);
    const lines = checker.getExportsOfModule(module).map((symbol) => {
      const isAlias = (symbol.flags & ts.SymbolFlags.Alias) !== 0;
      const target = isAlias ? checker.getAliasedSymbol(symbol) : symbol;
      return (target.flags & ts.SymbolFlags.Value) === 0 ? `type ${symbol.name}` : symbol.name;
    });
    return [`# ${name} (${lines.length})`, ...lines.sort(), ""].join("\n");
  });
  return sections.join("\n");
}

describe("the public names", () => {
  it("of every package are those on record (after a wanted change: npm run public-names)", async () => {
    await expect(publicNames(packageEntries())).toMatchFileSnapshot("fixtures/public-names.txt");
  });
});
