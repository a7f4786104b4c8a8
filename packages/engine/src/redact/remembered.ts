const MOST_NAMES = 2_000;
const LONGEST_NAME = 64;

/**
 * The same judgement of names, remembered: calls use the same few names over and over, and each field of each input is
 * judged. The memory is bounded, and holds no name that `mayKeep` refuses.
 */
export function remembered<Judgement extends string | object>(
  judge: (name: string) => Judgement,
  mayKeep: (name: string, judgement: Judgement) => boolean = () => true,
): (name: string) => Judgement {
  const known = new Map<string, Judgement>();
  return (name) => {
    const before = known.get(name);
    if (before !== undefined) return before;
    const judgement = judge(name);
    if (name.length > LONGEST_NAME || !mayKeep(name, judgement)) return judgement;
    if (known.size >= MOST_NAMES) known.clear();
    known.set(name, judgement);
    return judgement;
  };
}
