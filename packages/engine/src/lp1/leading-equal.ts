/**
 * For each place of the file, how many of the find-block's lines are equal from its first on. Both are given as names, and a
 * name of 0 equals nothing. The Z algorithm: linear, whatever repeats.
 */
export function leadingEqual(find: Int32Array, file: Int32Array): Int32Array {
  return extend(find, file, extend(find, find, undefined));
}

/** `own` is the same table of the find-block with itself; while that table is being made, it is the one being filled. */
function extend(find: Int32Array, file: Int32Array, own: Int32Array | undefined): Int32Array {
  const equal = new Int32Array(file.length);
  const known = own ?? equal;
  let from = 0;
  let to = 0;
  for (let at = own === undefined ? 1 : 0; at < file.length; at += 1) {
    let length = at < to ? Math.min(to - at, known[at - from] ?? 0) : 0;
    while (length < find.length && at + length < file.length && file[at + length] === find[length])
      length += 1;
    equal[at] = length;
    if (at + length > to) [from, to] = [at, at + length];
  }
  if (own === undefined) equal[0] = find.length;
  return equal;
}
