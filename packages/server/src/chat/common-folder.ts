import { failure, SallyportError } from "@sallyport/protocol";

/** The deepest folder that holds all of these; absolute and canonical like they are. E3919 when that is the whole disk. */
export function commonFolder(folders: readonly string[]): string {
  const [first = [], ...others] = folders.map((folder) => folder.split("/"));
  let shared = first.length;
  for (const other of others) {
    const differs = first.findIndex((part, index) => other[index] !== part);
    shared = Math.min(shared, differs === -1 ? first.length : differs);
  }
  const common = first.slice(0, shared).join("/");
  if (common !== "") return common;
  throw new SallyportError(
    failure("E3919", {
      message: `The folders of loop.sandbox.allowed_roots have nothing in common: ${folders.join(", ")}.`,
      advice: "Changes of one call are one transaction over one folder; choose roots that lie in one.",
    }),
  );
}
