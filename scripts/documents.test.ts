import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import ts from "typescript";
import { describe, expect, it } from "vitest";

const PORTS = "packages/engine/src/ports";

/** The first cells, in backticks, of the table below the heading that names this folder. */
function rowsFor(folder: string): string[] {
  const page = readFileSync("docs/architecture.md", "utf8");
  const section = page.split(/^## /m).find((text) => text.split("\n")[0]?.endsWith(` in \`${folder}\``));
  return Array.from((section ?? "").matchAll(/^\| `([^`]+)`/gm), ([, name]) => name ?? "").sort();
}

function foldersIn(folder: string): string[] {
  const entries = readdirSync(folder, { withFileTypes: true });
  return entries
    .filter((entry) => entry.isDirectory() && entry.name !== "fixtures")
    .map(({ name }) => `${name}/`)
    .sort();
}

/** The exported interfaces of a file; a port is one that has a method. */
function interfacesIn(file: string): { name: string; isPort: boolean }[] {
  const source = ts.createSourceFile(file, readFileSync(file, "utf8"), ts.ScriptTarget.Latest);
  return source.statements
    .filter((node) => ts.isInterfaceDeclaration(node))
    .filter(({ modifiers }) => modifiers)
    .map(({ name, members }) => ({ name: name.text, isPort: members.some(ts.isMethodSignature) }));
}

describe("docs/architecture.md", () => {
  it.each(["packages", "packages/engine/src", "packages/adapters/src", "packages/server/src"])(
    "names each folder in %s, and no other",
    (folder) => {
      expect(rowsFor(folder)).toEqual(foldersIn(folder));
    },
  );

  it("names each port by its file, and nothing that is not there", () => {
    const page = readFileSync("docs/architecture.md", "utf8");
    const files = readdirSync(PORTS).filter((file) => file.endsWith(".ts") && file !== "index.ts");
    expect(rowsFor(PORTS)).toEqual(files.sort());
    const named = (file: string) => {
      const cell = page.match(new RegExp(`^\\| \`${file}\` \\| ([^|]+)\\|`, "m"))?.[1] ?? "";
      return Array.from(cell.matchAll(/`(\w+)`/g), ([, name]) => name ?? "");
    };
    for (const file of files) {
      const found = interfacesIn(join(PORTS, file));
      const ports = found.filter(({ isPort }) => isPort).map(({ name }) => name);
      expect(named(file)).toEqual(expect.arrayContaining(ports));
      expect(found.map(({ name }) => name)).toEqual(expect.arrayContaining(named(file)));
    }
  });
});

describe("ways to install", () => {
  const files = execFileSync("git", ["ls-files"], { encoding: "utf8" }).split("\n");
  const found = (pattern: RegExp, where: (file: string) => boolean) =>
    files
      .filter(
        (file) =>
          /\.(?:md|ts|js|yaml|json)$|Dockerfile$/.test(file) && !/\.test\.ts$/.test(file) && where(file),
      )
      .filter((file) => existsSync(file) && pattern.test(readFileSync(file, "utf8")));

  it("ask no registry for a name of ours, which anyone could take there [X-17]", () => {
    const registry = /npm (?:i|install|add|exec)(?: -{1,2}[\w-]+)* (?:@sallyport|sallyport)\b(?!-)/;
    expect(found(registry, () => true)).toEqual(["docs/install.md"]);
    const described = files.filter((file) => file.endsWith("package.json") && file.includes("/templates/"));
    expect(described.length).toBeGreaterThan(0);
    for (const file of described)
      expect(JSON.parse(readFileSync(file, "utf8"))).not.toHaveProperty("dependencies");
  });

  it("name npx only where a page is about the clone or about installing [X-17]", () => {
    const inDocs = (file: string) => file.startsWith("docs/") && !file.startsWith("docs/decisions/");
    expect(found(/npx sallyport/, inDocs)).toEqual(["docs/cli.md", "docs/install.md"]);
    expect(found(/npx sallyport/, (file) => /^packages\/.*\.ts$/.test(file))).toEqual([
      "packages/server/src/cli/invoked-as.ts",
    ]);
  });
});

const DOCS = readdirSync("docs", { recursive: true, encoding: "utf8" })
  .filter((file) => file.endsWith(".md"))
  .map((file) => join("docs", file));

it("pages use no word that the glossary avoids and a reader stumbles over: beside, patience, furnish", () => {
  const pages = ["README.md", ...DOCS.filter((file) => !/decisions|glossary/.test(file))];
  // `beside/` is a folder, `patienceMs` a setting.
  const found = pages.filter((file) =>
    /\b(?:beside(?!\/)|patience|furnish)\b/i.test(readFileSync(file, "utf8")),
  );
  expect(found).toEqual([]);
});

const TOP = ["README.md", "AGENTS.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"];
const READMES = ["packages", "workers", "examples"].flatMap((folder) =>
  readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith("README.md") && !/(^|\/)(node_modules|dist|build)\//.test(file))
    .map((file) => join(folder, file)),
);

/** Links to files of this repository, outside of code. */
function linksIn(page: string): { path: string; anchor: string | undefined }[] {
  const prose = readFileSync(page, "utf8").replaceAll(/^```[\s\S]*?^```/gm, "");
  return Array.from(prose.matchAll(/\]\(([^)\s]+)\)/g), ([, target = ""]) => target)
    .filter((target) => !/^[a-z]+:/.test(target))
    .map((target) => {
      const [path = "", anchor] = target.split("#");
      return { path: path === "" ? page : normalize(join(dirname(page), path)), anchor };
    });
}

/** Anchors as GitHub makes them from headings. */
function anchorsOf(page: string): string[] {
  const headings = readFileSync(page, "utf8").matchAll(/^#+ (.+)$/gm);
  return Array.from(headings, ([, text = ""]) =>
    text
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
      .replaceAll(" ", "-"),
  );
}

function isAlive({ path, anchor }: { path: string; anchor: string | undefined }): boolean {
  if (!existsSync(path)) return false;
  return anchor === undefined || statSync(path).isDirectory() || anchorsOf(path).includes(anchor);
}

describe("the documents", () => {
  it.each([...TOP, ...DOCS, ...READMES])("%s has no dead link", (page) => {
    const dead = linksIn(page).filter((link) => !isAlive(link));
    expect(dead).toEqual([]);
  });

  it("docs/fail-safe.md names tests that exist", () => {
    const rows = readFileSync("docs/fail-safe.md", "utf8").matchAll(/^\|.*\| ([^|]+) \|$/gm);
    const cells = Array.from(rows, ([, cell = ""]) => cell).join(" ");
    const named = Array.from(cells.matchAll(/`([^`]+)`/g), ([, path = ""]) => path);
    const files = named.map((path) => (path.startsWith("test/") ? path : join("packages", path)));
    expect(files.length).toBeGreaterThan(40);
    expect(files.filter((file) => !existsSync(file))).toEqual([]);
  });

  it("have an index that links every page; decision records by their folder", () => {
    const linked = new Set(linksIn("docs/README.md").map(({ path }) => path.replace(/\/$/, "")));
    const pages = DOCS.filter((page) => page !== "docs/README.md" && !page.startsWith("docs/decisions/"));
    expect(linked).toContain("docs/decisions");
    expect(pages.filter((page) => !linked.has(page))).toEqual([]);
  });
});
