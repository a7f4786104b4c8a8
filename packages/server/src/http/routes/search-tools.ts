import type { ToolManifest } from "@sallyport/protocol";

/** How much a word counts, by where it is found: what a tool is called says more than what is said about it. */
const PLACES: readonly [weight: number, text: (manifest: ToolManifest) => string][] = [
  [8, ({ id, name }) => `${id} ${name}`],
  [6, ({ tags }) => tags.join(" ")],
  [5, ({ operations }) => Object.keys(operations).join(" ")],
  [3, ({ description, category }) => `${description} ${category}`],
  [
    2,
    ({ operations }) =>
      Object.values(operations)
        .map((one) => one.description)
        .join(" "),
  ],
];

const MAX_WORDS = 16;

/** The tools that have any of the query's words, the best matches first; equals stay in their order. */
export function searchTools(manifests: readonly ToolManifest[], query: string): ToolManifest[] {
  const wanted = [...new Set(wordsOf(query))].slice(0, MAX_WORDS);
  const rated = manifests.map((manifest) => ({ manifest, score: scoreOf(manifest, wanted) }));
  return rated
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score)
    .map(({ manifest }) => manifest);
}

function scoreOf(manifest: ToolManifest, wanted: readonly string[]): number {
  const places = PLACES.map(([weight, text]) => ({ weight, words: wordsOf(text(manifest)) }));
  return wanted.reduce((sum, word) => {
    const found = places.map(({ weight, words }) => weight * nearness(word, words));
    return sum + Math.max(...found);
  }, 0);
}

/** 1 for the word itself, less for one that begins with it, nothing otherwise. */
function nearness(word: string, words: readonly string[]): number {
  if (words.includes(word)) return 1;
  return word.length >= 3 && words.some((other) => other.startsWith(word)) ? 0.5 : 0;
}

/** In lower case, names of code split where a person would. */
function wordsOf(text: string): string[] {
  const spaced = text
    .replaceAll(/(\p{Ll})(\p{Lu})/gu, "$1 $2")
    .normalize("NFKC")
    .toLowerCase();
  return spaced.match(/[\p{L}\p{N}]+/gu) ?? [];
}
